/** The report in a real browser: nothing complained of, nothing fetched, readable on a phone, in the dark and on paper. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { ResultSet } from '#src/bench/model.js';
import { diagnoseFacts, gatherFacts } from '#src/doctor/index.js';
import { diagnosisPage } from '#src/report/html/diagnosis.js';
import { reportPage } from '#src/report/html/index.js';
import { Chromium, findChromium, type Page } from '../../helpers/chromium.js';
import { pointedAt, wholeSet } from '../../helpers/page.js';
import { setOf } from '../interop/fixtures.js';

const path = findChromium();

describe('in Chromium', {
  skip: path === undefined && 'Chromium is not installed (Debian: apt-get install chromium)',
  timeout: 60_000,
}, () => {
  const folder = mkdtempSync(join(tmpdir(), 'hwcrypt-test-'));
  const url = pathToFileURL(join(folder, 'report.html')).href;
  const sets: readonly ResultSet[] = [
    setOf('report-user-time-software.txt'),
    setOf('report-user-time-engine.txt'),
    setOf('report-disk-before.txt'),
    setOf('report-disk-after.txt'),
    setOf('report-qemu-tables.txt'),
    wholeSet(),
  ];
  let browser: Chromium;
  let page: Page;

  before(async () => {
    writeFileSync(join(folder, 'report.html'), await reportPage(sets, { title: 'x'.repeat(500) }));
    browser = Chromium.start(path!);
    page = await browser.open();
    await page.resize(1280, 900);
    await page.dark(false);
    await page.goto(url);
  });
  after(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test('numbers are the JSON’s, charts are drawn', async () => {
    const { json, data, charts } = await page.evaluate<{
      json: string;
      data: [at: string, value: string][];
      charts: { width: number; height: number; marks: number }[];
    }>(`({
        json: document.getElementById('hwcrypt-results').textContent,
        data: [...document.querySelectorAll('data[data-at]')].map((own) => [own.dataset.at, own.value]),
        charts: [...document.querySelectorAll('svg.chart')].filter((own) => own.checkVisibility()).map((own) => ({
          width: own.getBoundingClientRect().width,
          height: own.getBoundingClientRect().height,
          marks: own.querySelectorAll('path, rect, circle').length,
        })),
      })`);
    const results = JSON.parse(json) as unknown;
    assert.deepEqual(results, JSON.parse(JSON.stringify(sets)));
    assert.ok(data.length > 300, `${data.length} numbers`);
    for (const [at, value] of data) assert.equal(Number(value), pointedAt(results, at), at);
    assert.ok(charts.length >= 9, `${charts.length} charts`);
    for (const { width, height, marks } of charts) {
      assert.ok(width > 600 && height > 30 && marks > 0, JSON.stringify({ width, height, marks }));
    }
  });

  test('on a phone nothing is wider than the screen but what scrolls by itself', async () => {
    await page.resize(360, 740, true);
    const { width, wide, charts, letters } = await page.evaluate<{
      width: number;
      wide: string[];
      charts: number;
      letters: number[];
    }>(`({
        width: document.documentElement.scrollWidth,
        wide: [...document.body.querySelectorAll('*')]
          .filter((own) => own.checkVisibility() && !own.closest('.scroll > *, .skip, svg') && own.getBoundingClientRect().right > 360.5)
          .map((own) => own.outerHTML.slice(0, 100)),
        charts: [...document.querySelectorAll('svg.chart')].filter((own) => own.checkVisibility()).length,
        letters: [...document.querySelectorAll('svg.narrow text')].map((own) => own.getBoundingClientRect().height),
      })`);
    assert.equal(width, 360);
    assert.deepEqual(wide, []);
    assert.ok(charts >= 9, `${charts} charts`);
    assert.ok(Math.min(...letters.filter((height) => height > 0)) >= 11, 'letters can be read');
    await page.resize(1280, 900);
  });

  test('no writing of a chart is outside of it or over another', async () => {
    for (const [width, mobile] of [
      [1280, false],
      [360, true],
    ] as const) {
      await page.resize(width, 900, mobile);
      const problems = await page.evaluate<string[]>(`[...document.querySelectorAll('svg.chart')]
          .filter((own) => own.checkVisibility())
          .flatMap((chart) => {
            const box = chart.getBoundingClientRect();
            const texts = [...chart.querySelectorAll('text')].filter((own) => own.textContent !== '').map((own) => ({ text: own.textContent, at: own.getBoundingClientRect() }));
            const outside = texts.filter(({ at }) => at.left < box.left - 1 || at.right > box.right + 1 || at.top < box.top - 1 || at.bottom > box.bottom + 1);
            const over = texts.filter((a, i) => texts.slice(i + 1).some((b) => Math.min(a.at.right, b.at.right) - Math.max(a.at.left, b.at.left) > 1 && Math.min(a.at.bottom, b.at.bottom) - Math.max(a.at.top, b.at.top) > 3));
            return [...outside.map(({ text }) => 'outside: ' + text), ...over.map(({ text }) => 'over another: ' + text)];
          })`);
      assert.deepEqual(problems, [], `${width} px`);
    }
    await page.resize(1280, 900);
  });

  test('dark is dark, and both can be read', async () => {
    const colours = (): Promise<Record<'page' | 'ink' | 'chart' | 'soft' | 'link' | 'curve', string>> =>
      page.evaluate(`(() => {
          const of = (selector, property) => getComputedStyle(document.querySelector(selector))[property];
          return {
            page: of('body', 'backgroundColor'), ink: of('body', 'color'), chart: of('svg.wide text', 'fill'),
            soft: of('.soft', 'color'), link: of('nav a', 'color'), curve: of('svg.wide g[stroke^="var(--s"]', 'stroke'),
          };
        })()`);
    for (const dark of [false, true]) {
      await page.dark(dark);
      const { page: ground, ...others } = await colours();
      assert.ok(dark ? luminance(ground) < 0.05 : luminance(ground) > 0.9, ground);
      for (const [name, colour] of Object.entries(others)) {
        const least = name === 'curve' ? 3 : 4.5;
        assert.ok(contrast(ground, colour) >= least, `${name}: ${colour} on ${ground}`);
      }
    }
    await page.dark(false);
  });

  test('print gives pages, with everything in them', async () => {
    const pdf = await page.pdf();
    assert.equal(pdf.subarray(0, 5).toString(), '%PDF-');
    const pages = pdf.toString('latin1').match(/\/Type\s*\/Page\b/g)?.length ?? 0;
    assert.ok(pages >= 5 && pages < 60, `${pages} pages`);
    await page.send('Emulation.setEmulatedMedia', { media: 'print' });
    const { folded, shown } = await page.evaluate<{ folded: number; shown: number }>(`({
        folded: document.querySelectorAll('details:not([open])').length,
        shown: [...document.querySelectorAll('details:not([open]) tr')].every((own) => own.getBoundingClientRect().height > 0),
      })`);
    assert.ok(folded > 0 && shown, 'folded tables are printed');
    await page.send('Emulation.setEmulatedMedia', { media: '' });
  });

  test('nothing was complained of, nothing was fetched', () => {
    assert.deepEqual(page.complaints, []);
    assert.deepEqual(
      page.requests.filter((own) => !own.startsWith('data:')),
      [url],
    );
  });
});

describe('a diagnosis in Chromium', {
  skip: path === undefined && 'Chromium is not installed (Debian: apt-get install chromium)',
  timeout: 60_000,
}, () => {
  test('commands stay within the column and the window, on a phone and a desk, light and dark', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hwcrypt-test-'));
    const facts = gatherFacts([
      {
        name: 'router',
        text: `[[kernel]]\nLinux 5.15.150 mips\n[[model]]\nGnuBee GB-PC1\n[[cpuinfo]]\nsystem type\t: MediaTek MT7621\n[[crypto]]\nname         : cbc(aes)\ndriver       : cbc-aes-eip93\nmodule       : crypto_hw_eip93\npriority     : 1500\ntype         : skcipher\n[[openssl-dump]]\n${'x'.repeat(300)}\n`,
      },
    ]);
    const browser = Chromium.start(path!);
    try {
      writeFileSync(join(folder, 'diagnosis.html'), await diagnosisPage(diagnoseFacts(facts)));
      const page = await browser.open();
      await page.goto(pathToFileURL(join(folder, 'diagnosis.html')).href);
      for (const [width, mobile] of [
        [390, true],
        [1280, false],
      ] as const) {
        for (const dark of [false, true]) {
          await page.resize(width, 800, mobile);
          await page.dark(dark);
          const { whole, blocks, wide, colons } = await page.evaluate<{
            whole: number;
            blocks: number;
            wide: string[];
            colons: string[];
          }>(`({
            whole: document.documentElement.scrollWidth,
            blocks: document.querySelectorAll('section > pre').length,
            wide: [...document.querySelectorAll('pre, pre code, p')]
              .filter((own) => own.getBoundingClientRect().right > document.querySelector('main').getBoundingClientRect().right + .5 || own.scrollWidth > own.clientWidth + 1 && own.tagName === 'PRE')
              .map((own) => own.outerHTML.slice(0, 100)),
            colons: [...document.querySelectorAll('section > pre')].map((own) => own.previousElementSibling.textContent.slice(-1)),
          })`);
          assert.ok(whole <= width, `${whole} of ${width} px`);
          assert.ok(blocks > 0, `${blocks} blocks of commands`);
          assert.deepEqual(wide, [], `${width} px`);
          assert.deepEqual([...new Set(colons)], [':']);
        }
      }
    } finally {
      await browser.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

/** Relative luminance of `rgb(…)`, as WCAG has it. */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = colour.match(/[\d.]+/g)!.map((text) => {
    const value = Number(text) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(a: string, b: string): number {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [number, number];
  return (high + 0.05) / (low + 0.05);
}
