/** What comes out of tests: the events that the process with the tests sends, and their sum. */

/** One message from test/worker.ts to whoever runs it. */
export type Event =
  | { readonly type: 'file'; readonly file: string }
  | { readonly type: 'start'; readonly name: string }
  | ({ readonly type: 'test' } & TestResult)
  | { readonly type: 'file-end'; readonly file: string }
  /** Something that belongs to no test, and means failure. */
  | { readonly type: 'stray'; readonly message: string };

export interface TestResult {
  /** The suites and the test, outermost first, with ` › ` between. */
  readonly name: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  readonly ms: number;
  /** Why it failed or was skipped. */
  readonly message?: string;
}

export interface FileResult {
  readonly file: string;
  readonly tests: TestResult[];
  /** What went wrong outside of the tests: the process died, said nothing any more, did not end … */
  readonly troubles: string[];
  /** What was written to stdout and stderr meanwhile. */
  output: string;
}

export interface LayerResult {
  readonly layer: string;
  readonly files: readonly FileResult[];
  /** Since the first file began. */
  readonly elapsedMs: number;
}

export interface Tally {
  passed: number;
  failed: number;
  skipped: number;
}

export function tally(files: readonly FileResult[]): Tally {
  const sum: Tally = { passed: 0, failed: 0, skipped: 0 };
  for (const file of files) {
    for (const test of file.tests) sum[test.outcome] += 1;
    sum.failed += file.troubles.length;
  }
  return sum;
}

export function tallyLine({ passed, failed, skipped }: Tally): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}

/** Failures with all that is known of them, then what was skipped and why. Ends with a line break where there is any. */
export function describeFailures(files: readonly FileResult[]): string {
  const parts: string[] = [];
  for (const file of files) {
    const failed = file.tests.filter(({ outcome }) => outcome === 'failed');
    for (const test of failed) {
      parts.push(`✖ ${file.file} › ${test.name}\n${indent(test.message ?? 'failed')}\n`);
    }
    for (const trouble of file.troubles) parts.push(`✖ ${file.file}\n${indent(trouble)}\n`);
    if (failed.length + file.troubles.length > 0 && file.output.trim() !== '') {
      parts.push(`  written meanwhile by ${file.file}:\n${indent(file.output.trimEnd())}\n`);
    }
  }
  return parts.join('') + describeSkipped(files);
}

/** Tests of one file that are skipped for one reason are told of together. */
function describeSkipped(files: readonly FileResult[]): string {
  let text = '';
  for (const { file, tests } of files) {
    const skipped = tests.filter(({ outcome }) => outcome === 'skipped');
    for (const reason of new Set(skipped.map(({ message }) => message ?? ''))) {
      const names = skipped.filter(({ message }) => (message ?? '') === reason).map(({ name }) => name);
      const more = names.length > 1 ? ` and ${names.length - 1} more` : '';
      text += `- skipped: ${file} › ${names[0]}${more}${reason === '' ? '' : `: ${reason}`}\n`;
    }
  }
  return text;
}

export function describeSlowest(files: readonly FileResult[], count: number): string {
  const all = files.flatMap((file) => file.tests.map((test) => ({ file: file.file, ...test })));
  all.sort((one, other) => other.ms - one.ms);
  return all
    .slice(0, count)
    .map(({ file, name, ms }) => `  ${(ms / 1000).toFixed(2).padStart(7)} s  ${file} › ${name}\n`)
    .join('');
}

function indent(text: string): string {
  return text.replace(/^/gm, '    ');
}
