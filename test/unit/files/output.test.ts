import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Input } from '#src/files/io.js';
import { checkOutput, openOutput } from '#src/files/output.js';
import { scratch } from '../enc/helpers.js';

const folder = scratch();
let count = 0;
/** A folder of its own for each test. */
function fresh(): string {
  const path = join(folder, String(count++));
  mkdirSync(path);
  return path;
}

const root = process.getuid?.() === 0 && 'root may write everywhere';
const bytes = [Buffer.from('one '), Buffer.alloc(0), Buffer.from('two')];

test('nothing is under the name before commit, all of it after', async () => {
  const home = fresh();
  const target = join(home, 'file');
  const output = openOutput(target, { secret: false });
  await output.write(bytes);
  assert.equal(existsSync(target), false);
  assert.equal(output.written, 7);
  await output.commit();
  assert.equal(readFileSync(target, 'utf8'), 'one two');
  assert.deepEqual(readdirSync(home), ['file']);
  output.abort();
  assert.equal(readFileSync(target, 'utf8'), 'one two');
});

test('abort leaves what was there', async () => {
  const home = fresh();
  const target = join(home, 'file');
  writeFileSync(target, 'old');
  const output = openOutput(target, { secret: true });
  await output.write(bytes);
  output.abort();
  assert.equal(readFileSync(target, 'utf8'), 'old');
  assert.deepEqual(readdirSync(home), ['file']);
});

test('a name as long as names may be', async () => {
  const home = fresh();
  for (const name of ['x'.repeat(255), 'ü'.repeat(127), '😀'.repeat(63)]) {
    const output = openOutput(join(home, name), { secret: false });
    await output.commit();
  }
  assert.equal(readdirSync(home).length, 3);
});

test('no listener for signals is left behind', async () => {
  const before = process.listenerCount('SIGINT');
  const output = openOutput(join(fresh(), 'file'), { secret: true });
  assert.equal(process.listenerCount('SIGINT'), before + 1);
  await output.commit();
  assert.equal(process.listenerCount('SIGINT'), before);
});

test('plaintext is private, ciphertext is as the umask has it, and a replaced file keeps its mode', async () => {
  const home = fresh();
  const mode = async (name: string, secret: boolean): Promise<number> => {
    const output = openOutput(join(home, name), { secret });
    await output.commit();
    return statSync(join(home, name)).mode & 0o777;
  };
  const umask = process.umask(0o022);
  try {
    assert.equal(await mode('plain', true), 0o600);
    assert.equal(await mode('cipher', false), 0o644);
    writeFileSync(join(home, 'given'), '');
    chmodSync(join(home, 'given'), 0o640);
    assert.equal(await mode('given', true), 0o640);
    assert.equal(await mode('given', false), 0o640);
  } finally {
    process.umask(umask);
  }
});

test('the temporary file is private whatever it becomes', () => {
  const home = fresh();
  writeFileSync(join(home, 'given'), '', { mode: 0o666 });
  const output = openOutput(join(home, 'given2'), { secret: true });
  const temporary = readdirSync(home).find((name) => name.endsWith('.tmp')) as string;
  assert.equal(statSync(join(home, temporary)).mode & 0o077, 0);
  output.abort();
});

test('a symbolic link is followed, also one that leads nowhere yet', async () => {
  const home = fresh();
  mkdirSync(join(home, 'far'));
  writeFileSync(join(home, 'far/there'), 'old');
  symlinkSync('far/there', join(home, 'link'));
  symlinkSync('far/new', join(home, 'dangling'));
  symlinkSync('dangling', join(home, 'chain'));
  for (const [name, real] of [
    ['link', 'far/there'],
    ['chain', 'far/new'],
  ] as const) {
    const output = openOutput(join(home, name), { secret: false });
    await output.write(bytes);
    await output.commit();
    assert.ok(lstatSync(join(home, name)).isSymbolicLink(), name);
    assert.equal(readFileSync(join(home, real), 'utf8'), 'one two', name);
  }
  symlinkSync('loop', join(home, 'loop'));
  assert.throws(() => openOutput(join(home, 'loop'), { secret: false }), /too many symbolic links/);
});

test('the input is not overwritten, by whatever name it is called', () => {
  const home = fresh();
  const file = join(home, 'file');
  writeFileSync(file, 'precious');
  symlinkSync('file', join(home, 'symbolic'));
  linkSync(file, join(home, 'hard'));
  const input = Input.open(file);
  for (const name of ['file', 'symbolic', 'hard', './file']) {
    for (const open of [openOutput, checkOutput]) {
      assert.throws(
        () => open(join(home, name), { secret: false, input }),
        { code: 'OUTPUT_FILE', message: /is the input file/ },
        name,
      );
    }
  }
  const fd = openSync(file, 'a');
  assert.throws(() => openOutput(`/dev/fd/${fd}`, { secret: false, input }), /is the input file/);
  closeSync(fd);
  input.close();
  assert.equal(readFileSync(file, 'utf8'), 'precious');
  assert.equal(readdirSync(home).length, 3);
});

test('what cannot be written is said with its cause, also beforehand', () => {
  const home = fresh();
  for (const open of [openOutput, checkOutput]) {
    assert.throws(() => open(home, { secret: false }), { code: 'OUTPUT_FILE', message: /it is a directory/ });
    assert.throws(
      () => open(join(home, 'no/where'), { secret: false }),
      /for writing: no such file or directory/,
    );
    assert.throws(() => open('/dev/fd/9999', { secret: false }), /bad file descriptor/);
  }
});

test('a file or folder without write permission is respected', { skip: root }, () => {
  const home = fresh();
  writeFileSync(join(home, 'file'), 'old', { mode: 0o444 });
  assert.throws(() => openOutput(join(home, 'file'), { secret: false }), /permission denied/);
  chmodSync(home, 0o555);
  assert.throws(
    () => openOutput(join(home, 'new'), { secret: false }),
    /temporary file beside .*permission denied/,
  );
});

test('what is no regular file is written straight through', async () => {
  const home = fresh();
  const fifo = join(home, 'fifo');
  execFileSync('mkfifo', [fifo]);
  // Opened for both, so that neither side waits for the other.
  const fd = openSync(fifo, 'r+');
  const output = openOutput(fifo, { secret: true });
  assert.equal(output.atomic, false);
  await output.write(bytes);
  await output.commit();
  const input = Input.open(fifo);
  const found = Buffer.alloc(7);
  assert.equal(await input.readFull(found, 0, 7), 7);
  assert.equal(found.toString(), 'one two');
  input.close();
  closeSync(fd);

  const nowhere = openOutput('/dev/null', { secret: true });
  await nowhere.write(bytes);
  await nowhere.commit();

  const full = openOutput('/dev/full', { secret: true });
  await assert.rejects(() => full.write(bytes), { code: 'OUTPUT_FILE', message: /no space left on device/ });
  full.abort();
});
