/** `hwcrypt report` on the command line. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, linkSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { command as liveReport, reportCommand } from '#src/cli/commands/report.js';
import type { Measure } from '#src/cli/live.js';
import { parse } from '#src/cli/options.js';
import { Tree, textOf } from '../../helpers/page.js';
import { curve, MT7688, QEMU } from '../bench/results.js';
import { failure, hwcrypt, MAIN, noTerminal, scratch, shell } from './helpers.js';

const cwd = scratch();

function file(name: string, text: string): string {
  writeFileSync(join(cwd, name), text);
  return name;
}

const software = file('mt7688-software.txt', MT7688.software);
const engine = file('mt7688-mtk-aes.txt', MT7688.engine);
const qemu = file('qemu.txt', QEMU);
const prose = file('prose.txt', 'Nothing here.\n');

const page = (name: string): Tree => new Tree(readFileSync(join(cwd, name), 'utf8'));

test('texts of several tools, and standard input, become one page', () => {
  const { status, stdout, stderr } = hwcrypt(['report', software, '-', qemu, '-o', 'report.html'], {
    cwd,
    input: MT7688.engine,
  });
  assert.deepEqual([status, stdout, stderr], [0, '', '']);
  const tree = page('report.html');
  assert.deepEqual(tree.errors, []);
  assert.equal(tree.json().length, 3);
  assert.match(textOf(tree.all('main')[0]!), /15\.5x/);
  assert.match(textOf(tree.all('h1')[0]!), /mt7688-software, stdin, qemu/);
});

test('the page’s own results make the same page again', () => {
  hwcrypt(['report', software, '-o', 'one.html', '--title', 'T'], { cwd });
  file('own.json', JSON.stringify(page('one.html').json()));
  hwcrypt(['report', 'own.json', '-o', 'two.html', '--title', 'T'], { cwd });
  const numbers = (name: string): (string | undefined)[] => page(name).with('data-at').map(textOf);
  assert.deepEqual(numbers('two.html'), numbers('one.html'));
});

test('into a pipe without -o, or with -o -, the same bytes as into a file', () => {
  hwcrypt(['report', software, engine, '-o', 'file.html'], { cwd });
  const expected = readFileSync(join(cwd, 'file.html'), 'utf8');
  assert.equal(hwcrypt(['report', software, engine], { cwd }).stdout, expected);
  assert.equal(hwcrypt(['report', software, engine, '-o', '-'], { cwd }).stdout, expected);
});

test('not into a terminal', { skip: noTerminal }, () => {
  const { stdout, status } = spawnSync(
    'script',
    ['-qec', `'${process.execPath}' '${MAIN}' report ${software}`, '/dev/null'],
    { cwd },
  );
  assert.equal(status, 2);
  assert.equal(stdout.toString(), 'hwcrypt: report: name a file for the page: -o report.html\r\n');
});

test('--title, --baseline and --algorithm', () => {
  hwcrypt(
    [
      'report',
      qemu,
      '-o',
      'b.html',
      '--title',
      'Mine & <yours>',
      '--baseline',
      'nettle',
      '--algorithm',
      'sha256',
    ],
    { cwd },
  );
  const tree = page('b.html');
  assert.equal(textOf(tree.all('h1')[0]!), 'Mine & <yours>');
  assert.equal(tree.all('figure').length, 1);
  assert.match(textOf(tree.all('main')[0]!), /0\.50x/);
});

test('wrong command lines are status 2', async () => {
  for (const [argv, message] of [
    [[], /nothing to report: name files/],
    [['-', '-'], /standard input can be read once only/],
    [['live', '-o', 'x'], /live needs a file of results beside it/],
    [['x', '--title', ' ', '-o', 'x'], /--title takes a text/],
    [['x', '--titel', 'x'], /did you mean --title\?/],
    [['x', '-o'], /needs a value/],
    [[join(cwd, qemu), '-o', join(cwd, 'no.html'), '--baseline', 'netle'], /did you mean nettle\?/],
  ] as const) {
    const found = await failure(liveReport, argv);
    assert.equal(found.status, 2, argv.join(' '));
    assert.match(found.message, message);
  }
  assert.ok(!existsSync(join(cwd, 'no.html')));
});

test('what cannot be read or written is status 1, one line, and leaves nothing behind', async () => {
  linkSync(join(cwd, software), join(cwd, 'same.txt'));
  const before = readdirSync(cwd).sort();
  const path = (name: string): string => join(cwd, name);
  for (const [argv, message] of [
    [['no-such-file', '-o', path('x')], /^cannot open no-such-file for reading/],
    [['.', '-o', path('x')], /^cannot read \.: it is a directory$/],
    [[path(prose), '-o', path('x')], /no benchmark output that is known/],
    [[path(qemu), '--algorithm', 'md5', '-o', path('x')], /nothing there is md5/],
    [[path(software), '-o', path(software)], /is read as well: write to another file/],
    [[path(software), '-o', path('same.txt')], /is read as well, as .*software\.txt: write to another file/],
    [[path(software), '-o', cwd], /it is a directory/],
    [[path(software), '-o', path('none/x')], /no such file or directory/],
    [[path(software), '-o', '/dev/full'], /^cannot write \/dev\/full: no space left on device$/],
  ] as const) {
    const found = await failure(liveReport, argv);
    assert.equal(found.status, 1, argv.join(' '));
    assert.match(found.message, message);
    assert.doesNotMatch(found.message, /\n/);
  }
  assert.deepEqual(readdirSync(cwd).sort(), before);
  assert.equal(readFileSync(path(software), 'utf8'), MT7688.software);
});

test('a full disk behind standard output is told, a closed pipe is not', () => {
  const full = shell(`hwcrypt report ${software} > /dev/full; echo $?`, { cwd });
  assert.equal(full.stdout, '1\n');
  assert.equal(full.stderr, 'hwcrypt: report: cannot write standard output: no space left on device\n');
  const closed = shell(`hwcrypt report ${software} ${engine} | true; echo "\${PIPESTATUS[0]}"`, { cwd });
  assert.deepEqual([closed.stderr, closed.stdout], ['', '1\n']);
});

test('live: this machine at what the files measured', async () => {
  const measure: Measure = async () => ({
    set: curve('this machine', { 16: 5e6, 8192: 9e6 }, { driver: 'afalg' }),
    status: 130,
  });
  const command = reportCommand(measure);
  const { given, operands } = parse(command, ['live', join(cwd, engine), '-o', join(cwd, 'live.html')]);
  assert.equal(
    await command.run(given, operands),
    130,
    'what a signal made of it; the page is there all the same',
  );
  assert.equal(page('live.html').json()[0]!.source, 'live');
});
