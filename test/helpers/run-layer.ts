/** Runs the files of one layer in the machine that this process is in, and gathers what comes out. */
import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { projectFolder } from '../../rig/index.js';
import { compiledFile, type Layer, testFiles } from './layers.js';
import type { Event, FileResult, LayerResult } from './results.js';
import type { Slots } from './slots.js';

export interface LayerRun {
  /** Only the files whose name has this in it; where there is none, only the tests whose name has. */
  readonly filter?: string | undefined;
  /** Each process takes one. On the host there is a process for each file, in a guest one for all of them. */
  readonly slots: Slots;
  /** Gets `events.jsonl` while the layer runs (so that a crash leaves a trace), and `summary.json` at its end. */
  readonly resultsFolder: string;
  readonly signal?: AbortSignal;
}

const farewellSeconds = 10;
/** Node's own start, before the first sign of life; slow in a guest, and on a busy machine. */
const startSeconds = 60;
const outputBytes = 64 * 1024;

export const eventsFile = 'events.jsonl';
export const summaryFile = 'summary.json';

export async function runLayer(layer: Layer, run: LayerRun): Promise<LayerResult> {
  mkdirSync(run.resultsFolder, { recursive: true });
  for (const name of [eventsFile, summaryFile]) rmSync(`${run.resultsFolder}/${name}`, { force: true });

  const all = testFiles(layer);
  const named = run.filter === undefined ? all : all.filter((file) => file.includes(run.filter!));
  const pattern = named.length === 0 ? run.filter : undefined;
  const queue = named.length === 0 ? all : named;

  const files: FileResult[] = [];
  const batches = layer.guest ? [queue] : queue.map((file) => [file]);
  let started: number | undefined;
  await Promise.all(
    batches.map((batch) =>
      run.slots.use(async () => {
        if (run.signal?.aborted) return;
        started ??= performance.now();
        files.push(...(await runFiles(batch, layer, run, pattern)));
      }),
    ),
  );
  files.sort((one, other) => (one.file < other.file ? -1 : 1));
  // With a pattern, most files have nothing to run.
  if (pattern === undefined) {
    for (const file of files) {
      if (file.tests.length + file.troubles.length === 0) file.troubles.push('no test ran');
    }
  }
  const result: LayerResult = {
    layer: layer.name,
    files,
    elapsedMs: performance.now() - (started ?? performance.now()),
  };
  writeFileSync(`${run.resultsFolder}/${summaryFile}`, JSON.stringify(result, null, 1));
  return result;
}

/** In one process, as far as it lives; what is left when it dies, in the next. */
async function runFiles(
  files: readonly string[],
  layer: Layer,
  run: LayerRun,
  pattern: string | undefined,
): Promise<FileResult[]> {
  const results: FileResult[] = [];
  let left = files.filter((file) => {
    if (existsSync(compiledFile(file))) return true;
    results.push({ file, tests: [], troubles: ['not compiled: see tsc -b'], output: '' });
    return false;
  });
  while (left.length > 0 && !run.signal?.aborted) {
    const done = await runProcess(left, layer, run, pattern);
    results.push(...done);
    left = left.slice(Math.max(done.length, 1));
  }
  return results;
}

/** Returns a result for each file that was begun, in the order given. */
function runProcess(
  files: readonly string[],
  layer: Layer,
  run: LayerRun,
  pattern: string | undefined,
): Promise<FileResult[]> {
  return new Promise((resolve, reject) => {
    const child: ChildProcess = spawn(
      process.execPath,
      [
        '--enable-source-maps',
        `--test-reporter=${projectFolder}/build/test/reporter.js`,
        '--test-reporter-destination=stdout',
        ...(pattern === undefined ? [] : [`--test-name-pattern=${escapePattern(pattern)}`]),
        `${projectFolder}/build/test/worker.js`,
        ...files,
      ],
      {
        cwd: projectFolder,
        stdio: ['ignore', 'pipe', 'pipe', 'ipc', 'pipe'],
        env: { ...process.env, HWCRYPT_RESULTS: run.resultsFolder, HWCRYPT_LAYER: layer.name },
      },
    );

    const results: FileResult[] = [];
    /** The last test that began; there may be none that runs. */
    let running: string | undefined;
    let ended = 0;
    let killedFor: string | undefined;

    const current = (): FileResult => {
      const last = results.at(-1);
      if (last) return last;
      const first: FileResult = { file: files[0]!, tests: [], troubles: [], output: '' };
      results.push(first);
      return first;
    };
    const kill = (why: string) => {
      killedFor ??= why;
      child.kill('SIGKILL');
    };
    let silence: NodeJS.Timeout;
    const listen = (seconds = layer.silenceSeconds) => {
      clearTimeout(silence);
      const over = ended === files.length;
      silence = setTimeout(
        () =>
          kill(
            over
              ? 'something keeps the process alive after its last test'
              : `no sign of life for ${seconds} s`,
          ),
        (over ? (layer.farewellSeconds ?? farewellSeconds) : seconds) * 1000,
      );
    };
    listen(startSeconds + layer.silenceSeconds);
    const onAbort = () => kill('interrupted');
    run.signal?.addEventListener('abort', onAbort, { once: true });

    child.on('message', (message) => {
      const event = message as Event;
      listen();
      appendFileSync(`${run.resultsFolder}/${eventsFile}`, `${JSON.stringify(event)}\n`);
      if (event.type === 'file') {
        results.push({ file: event.file, tests: [], troubles: [], output: '' });
      } else if (event.type === 'test') {
        const { type: _, ...test } = event;
        current().tests.push(test);
      } else if (event.type === 'file-end') {
        ended += 1;
        running = undefined;
        listen();
      } else if (event.type === 'stray') {
        current().troubles.push(event.message);
      }
    });
    (child.stdio[4] as Readable).setEncoding('utf8').on('data', (text: string) => {
      running = text.trimEnd().split('\n').at(-1);
      listen();
    });
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        const file = current();
        file.output = (file.output + text).slice(-outputBytes);
      });
    }
    child.on('error', reject);
    child.on('close', (status, signal) => {
      clearTimeout(silence);
      run.signal?.removeEventListener('abort', onAbort);
      const file = current();
      const where = running === undefined ? '' : `, the last test to begin was: ${running}`;
      const failed = results.some(({ tests, troubles }) => {
        return troubles.length > 0 || tests.some(({ outcome }) => outcome === 'failed');
      });
      if (killedFor !== undefined) file.troubles.push(`${killedFor}${where}`);
      else if (signal !== null) file.troubles.push(`the process died of ${signal}${where}`);
      else if (ended < files.length)
        file.troubles.push(`the process ended early with status ${status}${where}`);
      else if (status !== 0 && !failed) file.troubles.push(`the process ended with status ${status}`);
      resolve(results);
    });
  });
}

/** --test-name-pattern takes a regular expression. */
function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}
