/**
 * The reporter of test/worker.ts: turns node:test's events into ours (helpers/results.ts) and sends them to the parent.
 * Names that files, suites and tests have in common are told apart by the nesting level that comes with each event.
 */
import { inspect } from 'node:util';
import { projectFolder } from '../rig/index.js';
import type { Event } from './helpers/results.js';
import { fileEnded } from './worker-files.js';

interface NodeTestEvent {
  readonly type: string;
  readonly data: {
    readonly name?: string;
    readonly nesting?: number;
    readonly message?: string;
    readonly skip?: string | boolean;
    readonly todo?: string | boolean;
    readonly details?: {
      readonly duration_ms?: number;
      readonly type?: string;
      readonly error?: Error & { failureType?: string; cause?: unknown };
    };
  };
}

/** What Node 20 gives as the reason for skipping a test that --test-name-pattern does not match. */
const notWanted = 'test name does not match pattern';

export default async function* reporter(source: AsyncIterable<NodeTestEvent>): AsyncGenerator<string> {
  const path: string[] = [];
  for await (const { type, data } of source) {
    const nesting = data.nesting ?? 0;
    if (type === 'test:start') {
      path.length = nesting;
      path[nesting] = data.name ?? '';
      if (nesting > 0) send({ type: 'start', name: path.slice(1).join(' › ') });
    } else if (type === 'test:pass' || type === 'test:fail') {
      const names = [...path.slice(1, nesting), ...(nesting > 0 ? [data.name ?? ''] : [])];
      const event = result(type === 'test:fail', names.join(' › ') || '(the file)', data);
      if (event) send(event);
      if (nesting === 0) {
        send({ type: 'file-end', file: data.name ?? '' });
        fileEnded();
      }
    } else if (
      type === 'test:diagnostic' &&
      data.message?.includes('generated asynchronous activity') === true
    ) {
      send({ type: 'stray', message: data.message });
    }
    yield '';
  }
}

function result(failed: boolean, name: string, data: NodeTestEvent['data']): Event | undefined {
  const { details, skip, todo } = data;
  const ms = details?.duration_ms ?? 0;
  if (skip === notWanted) return undefined;
  const excuse = skip || todo;
  if (excuse !== undefined && excuse !== false) {
    return {
      type: 'test',
      name,
      outcome: 'skipped',
      ms,
      message: typeof excuse === 'string' ? excuse : skip ? '' : 'to do',
    };
  }
  if (!failed) return details?.type === 'suite' ? undefined : { type: 'test', name, outcome: 'passed', ms };
  const error = details?.error;
  // Its parts have been told of already.
  if (error?.failureType === 'subtestsFailed') return undefined;
  return { type: 'test', name, outcome: 'failed', ms, message: describe(error) };
}

function describe(error: (Error & { failureType?: string; cause?: unknown }) | undefined): string {
  if (error === undefined) return 'failed';
  // node:test wraps what the test threw.
  const cause = error.cause instanceof Error ? error.cause : undefined;
  const text = cause ? inspect(cause, { depth: 4 }) : error.message;
  const lines = text.split('\n').filter((line) => !/^\s+at .*(?:node:internal|node:async_hooks)/.test(line));
  const kind = error.failureType === 'testCodeFailure' ? '' : `(${error.failureType}) `;
  return `${kind}${lines.join('\n')}`
    .replaceAll(`file://${projectFolder}/`, '')
    .replaceAll(`${projectFolder}/`, '');
}

function send(event: Event): void {
  process.send?.(event);
}
