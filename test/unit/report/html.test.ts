/** The page of `hwcrypt report`: its tree, its numbers, other people's text in it, and any results at all. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Measurement, RESULTS_SCHEMA, type ResultSet, type Schema } from '#src/bench/model.js';
import { importResults } from '#src/interop/index.js';
import { type ReportOptions, reportPage } from '#src/report/html/index.js';
import { shorten, visible } from '#src/report/html/markup.js';
import { attributeOf, pointedAt, Tree, textOf, wholeSet } from '../../helpers/page.js';
import { curve, MT7688, row, run, set } from '../bench/results.js';
import { fixture, fixtures, setOf } from '../interop/fixtures.js';

/** A claimed 414x that is 15.5x. */
const fieldReport = (['software', 'engine'] as const).flatMap(
  (name) => importResults(MT7688[name], { source: `${name}.txt` }).sets,
);

async function pageOf(sets: readonly ResultSet[], options?: ReportOptions): Promise<Tree> {
  const text = await reportPage(sets, options);
  const tree = new Tree(text);
  sound(tree, text);
  return tree;
}

/** What must hold for any page. */
function sound(tree: Tree, text: string): void {
  assert.deepEqual(tree.errors, []);
  assert.equal(tree.all('h1').length, 1);
  assert.equal(attributeOf(tree.all('html')[0]!, 'lang'), 'en');
  assert.equal(tree.all('script').length, 1, 'one script element, which holds data');
  assert.equal(attributeOf(tree.all('script')[0]!, 'type'), 'application/json');
  const ids = tree.with('id').map((element) => attributeOf(element, 'id')!);
  assert.equal(new Set(ids).size, ids.length, 'ids are unique');
  for (const element of tree.elements) {
    for (const { name, value } of element.attrs) {
      assert.ok(
        !name.startsWith('on') && name !== 'style' && name !== 'src',
        `${element.tagName} has ${name}`,
      );
      assert.doesNotMatch(value, /NaN|Infinity|undefined/, `${element.tagName} ${name}`);
      if (name === 'href' && value.startsWith('#'))
        assert.ok(ids.includes(value.slice(1)), `nothing is ${value}`);
      else if (name === 'href') assert.match(value, /^data:(?:,|application\/json;base64,[\w+/=]+)$/);
      if (name === 'aria-labelledby') for (const id of value.split(' ')) assert.ok(ids.includes(id), id);
    }
  }
  for (const head of tree.all('th')) assert.match(attributeOf(head, 'scope') ?? '', /^(?:col|row)$/);
  for (const caption of tree.all('table').map((table) => table.childNodes.map((node) => node.nodeName))) {
    assert.ok(caption.includes('caption'));
  }
  for (const figure of tree.all('figure')) {
    assert.ok(figure.childNodes.some(({ nodeName }) => nodeName === 'figcaption'));
  }
  for (const chart of tree.ofClass('chart')) {
    assert.equal(attributeOf(chart, 'role'), 'img');
    for (const name of ['title', 'desc']) {
      const own = chart.childNodes.find(({ nodeName }) => nodeName === name);
      assert.ok(own && textOf(own).length > 5, `a chart has a ${name}`);
    }
  }
  assert.doesNotMatch(visibleText(tree), /NaN|Infinity|undefined|\[object/);
  assert.equal(visible(text), text, 'nothing that cannot be seen');
  numbersAgree(tree);
}

function visibleText(tree: Tree): string {
  return textOf(tree.all('main')[0]!) + textOf(tree.all('header')[0]!);
}

/** Each number is the JSON's, and each figure of the JSON is there. */
function numbersAgree(tree: Tree): void {
  const json = tree.json();
  const shown = new Set<string>();
  for (const datum of tree.with('data-at')) {
    const at = attributeOf(datum, 'data-at')!;
    shown.add(at);
    assert.equal(Number(attributeOf(datum, 'value')), pointedAt(json, at), at);
    assert.notEqual(textOf(datum).trim(), '');
  }
  for (const [s, { runs }] of json.entries()) {
    for (const [r, { measurements, kdfs }] of runs.entries()) {
      for (const [m, { bytesPerSecond, requestBytes = 0, status }] of measurements.entries()) {
        const usable = bytesPerSecond !== undefined && bytesPerSecond >= 1e-3 && bytesPerSecond <= 1e14;
        if (!usable || requestBytes < 1 || status !== 'ok') continue;
        assert.ok(
          shown.has(`/${s}/runs/${r}/measurements/${m}/bytesPerSecond`),
          `${s} ${r} ${m} is not shown`,
        );
      }
      for (const [k, { iterationsPerSecond }] of kdfs.entries()) {
        if (iterationsPerSecond !== undefined) {
          assert.ok(shown.has(`/${s}/runs/${r}/kdfs/${k}/iterationsPerSecond`));
        }
      }
    }
  }
}

test('every text that is read makes a sound page', async () => {
  for (const name of fixtures) {
    const { sets, unread } = importResults(fixture(name), { source: name });
    if (sets.length > 0) await pageOf(sets, { unread: [{ source: name, lines: unread }] });
  }
});

test('one engine against software: claimed beside true figures, crossover, ratios, notes', async () => {
  const tree = await pageOf(fieldReport);
  const [chart] = tree.ofClass('wide');
  const text = textOf(tree.all('main')[0]!);
  assert.match(textOf(chart!), /≈ 8\d B/);
  assert.match(text, /15\.5x/);
  assert.match(text, /0\.22x/);
  assert.match(text, /as the tool claims/);
  assert.match(text, /Below about 8\d B software is faster/);
  const dashed = chart!.childNodes
    .flatMap((node) => ('childNodes' in node ? [node] : []))
    .filter((node) => 'attrs' in node && attributeOf(node, 'stroke-dasharray') === '1 4');
  assert.ok(dashed.length >= 2, 'the claimed curve and the crossover are dotted');
  const notes = tree.with('data-doubt', 'CPU_TIME_DIVISOR');
  assert.ok(notes.length >= 4);
  const refs = tree.with('role', 'doc-noteref').map((ref) => attributeOf(ref, 'href'));
  for (const note of notes) assert.ok(refs.includes(`#${attributeOf(note, 'id')}`));
});

test('cryptsetup’s rows are bars, both directions, with ratios', async () => {
  const tree = await pageOf([setOf('report-disk-before.txt'), setOf('report-disk-after.txt')]);
  const charts = tree.ofClass('wide');
  assert.equal(charts.length, 2);
  const rects = (chart: (typeof charts)[number]): number =>
    JSON.stringify(chart, ['tagName', 'childNodes']).split('"rect"').length - 1;
  for (const chart of charts) assert.equal(rects(chart), 24);
  assert.match(textOf(tree.all('main')[0]!), /3\.5x/);
});

test('all that the model has is on the page', async () => {
  const tree = await pageOf([wholeSet()]);
  const text = textOf(tree.all('main')[0]!);
  for (const words of [
    'Time of one request',
    'CPU time for a gigabyte',
    'What a request costs',
    'PBKDF2, iterations a second',
    'argon2id',
    'Example board',
    'hwcrypt speed -evp aes-128-cbc',
    'What could not be read',
    'not available',
    'interrupts',
    'a note',
    'the rounds are up to 40 % apart',
  ]) {
    assert.ok(text.includes(words), words);
  }
  assert.equal(tree.all('figure').length, 4);
});

test('the same results give the same page', async () => {
  const sets = [wholeSet(), setOf('report-qemu-tables.txt')];
  assert.equal(await reportPage(sets), await reportPage(sets));
});

test('the policy names the style sheet and nothing else', async () => {
  const tree = await pageOf([wholeSet()]);
  const policy = attributeOf(tree.with('http-equiv', 'Content-Security-Policy')[0]!, 'content')!;
  const hash = createHash('sha256')
    .update(textOf(tree.all('style')[0]!))
    .digest('base64');
  assert.ok(policy.startsWith("default-src 'none'; "));
  assert.ok(policy.includes(`style-src 'sha256-${hash}'`));
  assert.doesNotMatch(policy, /unsafe|https?:|script-src/);
  const styles = textOf(tree.all('style')[0]!);
  assert.doesNotMatch(styles, /url\(|@import|https?:/);
});

test('the file behind the link is what hwcrypt reads again', async () => {
  const sets = [wholeSet(), setOf('report-qemu-tables.txt')];
  const tree = await pageOf(sets);
  const [link] = tree.with('download');
  const file = Buffer.from(attributeOf(link!, 'href')!.split(',')[1]!, 'base64');
  assert.deepEqual(importResults(file).sets, sets);
  assert.deepEqual(tree.json(), JSON.parse(JSON.stringify(sets)));
});

test('title, baseline and subjects are the caller’s', async () => {
  const sets = fieldReport;
  const tree = await pageOf(sets, {
    title: 'A <b>title</b>',
    baseline: ({ set }) => set === 1,
  });
  assert.equal(textOf(tree.all('h1')[0]!), 'A <b>title</b>');
  assert.equal(textOf(tree.all('title')[0]!), 'A <b>title</b>');
  assert.match(visibleText(tree), /0\.0644x/);
  const none = new Tree(await reportPage(sets, { only: () => false }));
  assert.equal(none.all('figure').length, 0);
});

const HOSTILE = [
  '<script>alert(1)</script>',
  '</script><img src=x onerror=alert(1)>',
  '</style></title><!-- ',
  '"><svg onload=alert(1)>',
  "' onmouseover='alert(1)",
  '\u202egnp.exe\u2066\u200f',
  '\0\u0007\u001b[31m\ud800 \udfff\ufffe\u2028',
  'x'.repeat(10_000),
  'م'.repeat(200),
  '&lt;&amp;#60;',
  ']]>--!>',
  '',
  '__proto__',
];

test('other people’s text stays text, wherever it stands', async () => {
  for (const hostile of HOSTILE) {
    const tree = await pageOf(
      [spoilt(wholeSet(), hostile), spoilt(setOf('report-disk-after.txt'), hostile)],
      {
        title: `t${hostile}`,
        unread: [{ source: hostile, lines: [{ line: 1, reason: hostile, text: hostile }] }],
      },
    );
    for (const { tagName } of tree.elements)
      assert.ok(!['img', 'b', 'iframe', 'object'].includes(tagName), tagName);
    const longest = Math.max(
      ...visibleText(tree)
        .split(/\s/)
        .map((word) => word.length),
    );
    assert.ok(longest < 1300, `a word of ${longest} characters`);
  }
});

/** A set in which all text that a program does not choose from a list is something else. */
function spoilt(set: ResultSet, text: string): ResultSet {
  const kept = new Set(['format', 'tool', 'operation', 'basis', 'status', 'kdf', 'loaded']);
  const copy = (value: unknown, key = ''): unknown => {
    if (typeof value === 'string') return kept.has(key) ? value : text;
    if (Array.isArray(value)) return value.map((own) => copy(own, key));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, own]) => [name, copy(own, name)]));
  };
  return copy(set) as ResultSet;
}

test('what cannot be seen is spelt out, and long names are shortened', () => {
  assert.equal(visible('a\u202eb\0c\nd\te'), 'aU+202EbU+0000c\nd\te');
  assert.equal(visible('\ud83d\ude00\ud83d'), '\ud83d\ude00U+D83D');
  assert.equal(shorten('short'), 'short');
  assert.equal([...shorten('😀'.repeat(500), 30)].length, 30);
  assert.equal(shorten('a'.repeat(81)).length, 80);
});

/** Any value that a schema allows. */
function anyOf(schema: Schema, depth = 0): fc.Arbitrary<unknown> {
  if (schema.$ref !== undefined)
    return anyOf(RESULTS_SCHEMA.$defs![schema.$ref.slice('#/$defs/'.length)]!, depth);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const number = fc.oneof(
    fc.constantFrom(0, 1, 16, 64, 1024, 8192, 65536, 1e-300, 1e300, 5e-324, Number.MAX_VALUE),
    fc.double({ min: 0, max: 1e12, noNaN: true }),
  );
  const integer = fc.oneof(fc.constantFrom(0, 1, 16, 64, 1024, 8192, 2 ** 53, 1e300), fc.nat(1e6));
  switch (schema.type) {
    case 'object': {
      const properties = Object.entries(schema.properties ?? {}).map(
        ([key, own]) => [key, anyOf(own, depth + 1)] as const,
      );
      return fc.record(Object.fromEntries(properties), {
        requiredKeys: [...(schema.required ?? [])],
        noNullPrototype: true,
      });
    }
    case 'array':
      return fc.array(anyOf(schema.items!, depth + 1), {
        minLength: schema.minItems ?? 0,
        maxLength: schema.maxItems ?? (depth > 2 ? 6 : 3),
      });
    case 'string':
      return fc
        .oneof(
          fc.constantFrom('a', 'b', 'aes-128-cbc', 'afalg'),
          fc.string({ unit: 'binary', maxLength: 20 }),
        )
        .filter((text) => !/NaN|Infinity|undefined/.test(text));
    case 'integer':
      return integer;
    case 'boolean':
      return fc.boolean();
    default:
      return schema.type === 'number' ? number : fc.oneof(number, fc.constant(null));
  }
}

test('any results at all make a sound page', async () => {
  const sets = fc.array(anyOf(RESULTS_SCHEMA) as fc.Arbitrary<ResultSet>, { maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(sets, async (any) => {
      await pageOf(any);
    }),
    { numRuns: 60 },
  );
});

test('any numbers can be drawn', async () => {
  const number = fc.oneof(
    { weight: 3, arbitrary: fc.double({ min: 1, max: 1e10, noNaN: true }) },
    { weight: 1, arbitrary: fc.constantFrom(0, 1e-3, 5e-324, 1e18, 1e300, Number.MAX_VALUE) },
  );
  const size = fc.oneof(
    fc.constantFrom(1, 16, 64, 1024, 8192, 65536),
    fc.nat(2 ** 31),
    fc.constantFrom(1e15, 1e300),
  );
  const measurement = fc.record(
    {
      requestBytes: size,
      bytesPerSecond: number,
      claimedBytesPerSecond: number,
      requests: number,
      elapsedNs: number,
      userNs: number,
      systemNs: number,
      latency: fc.record({ p50Ns: number, p90Ns: number, p99Ns: number }),
      rounds: fc.record({ count: fc.nat(9), spread: number }),
      driver: fc.constantFrom('a', 'b', 'c'),
    },
    { requiredKeys: ['requestBytes', 'bytesPerSecond', 'driver'], noNullPrototype: true },
  );
  let charts = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(measurement, { maxLength: 20 }), async (rows) => {
      const one = set('x.json', [
        run(rows.map(({ requestBytes, bytesPerSecond, ...more }) => row(requestBytes, bytesPerSecond, more))),
      ]);
      charts += (await pageOf([one])).ofClass('chart').length;
    }),
    { numRuns: 60 },
  );
  assert.ok(charts > 200, `${charts} charts`);
});

test('of very many results some are drawn, and all are in the tables', async () => {
  const many = Array.from({ length: 200 }, (_, i) => i);
  const curves = await pageOf([
    set('x.json', [
      run(many.flatMap((i) => [16, 1024].map((size) => row(size, 1e6 + i, { driver: `d${i}` })))),
    ]),
  ]);
  assert.match(visibleText(curves), /24 of 200 series are drawn/);
  const bars = await pageOf([
    set('x.json', [run(many.map((i) => row(16, 1e6 + i, { algorithm: `a${i}`, algorithmText: `a${i}` })))]),
  ]);
  assert.match(visibleText(bars), /60 of 200 figures are drawn/);
});

test('bars are compared with the same baseline in every row', async () => {
  const own = (driver: string, algorithm: string): Measurement =>
    row(65536, driver === 'a' ? 1e6 : 3e6, { driver, algorithm, algorithmText: algorithm });
  const tree = await pageOf([
    set('x.json', [
      run([
        own('a', 'aes-128-cbc'),
        own('b', 'aes-128-cbc'),
        own('b', 'aes-256-cbc'),
        own('c', 'aes-256-cbc'),
      ]),
    ]),
  ]);
  const ratios = tree.all('data').filter((datum) => attributeOf(datum, 'data-at') === undefined);
  // To `a`, which the second row lacks.
  assert.deepEqual(ratios.map(textOf), ['3.0x']);
});

test('of many subjects there is an overview, at the largest size that most of them have', async () => {
  const rows = ['md5', 'sha1', 'sha256', 'sha512'].flatMap((algorithm, i) =>
    [64, 1024, ...(i === 0 ? [8192] : [])].map((size) =>
      row(size, 1e6 * (i + 1), { algorithm, algorithmText: algorithm, operation: 'digest', driver: 'a' }),
    ),
  );
  const tree = await pageOf([set('x.json', [run(rows)])]);
  assert.match(visibleText(tree), /All at 1 KiB a request/);
  const few = await pageOf([set('x.json', [run(rows.slice(0, 5))])]);
  assert.doesNotMatch(visibleText(few), /All at/);
});

test('those that share no size with the first have a baseline of their own', async () => {
  const page = await pageOf([
    curve('disk', { 65536: 100 }),
    curve('software', { 16: 100, 64: 100, 256: 100 }),
    curve('engine', { 16: 50, 64: 100, 256: 200 }),
  ]);
  const headings = page.all('h2').map(textOf);
  assert.ok(headings.includes('aes-128-cbc, encryption, beside software'), headings.join('; '));
  const words = page.ofClass('verdict').map(textOf).join(' ');
  assert.match(words, /Below about \d+ B software is faster, above it engine/);
});

test('a bar of unknown direction is marked, and a legend names who has a bar', async () => {
  const { operation: _, ...open } = row(65_536, 3e6);
  const page = await pageOf([
    set('one', [run([row(65_536, 1e6)])]),
    set('two', [run([row(65_536, 2e6, { operation: 'decrypt' })])]),
    set('three', [run([open])]),
  ]);
  const legends = page.ofClass('legend').map((list) => textOf(list));
  assert.deepEqual(
    legends.map((names) => ['one', 'two', 'three'].filter((name) => names.includes(name))),
    [
      ['one', 'three'],
      ['two', 'three'],
    ],
  );
  assert.equal(visibleText(page).match(/Which operation this is, its text does not say/g)?.length, 2);
  assert.match(page.ofClass('chart').map(textOf).join(' '), /three: 3\.00 \*\./);
});
