/** What `time` prints about a process: GNU time -v, and the shells' three lines. Evidence of who did the work. */
import type { ProcessTimes } from '../bench/model.js';

/** Keys of GNU time -v that say nothing here; they are known, so that they are not reported as unread. */
const OTHER = [
  'Command being timed',
  'Average shared text size',
  'Average unshared data size',
  'Average stack size',
  'Average total size',
  'Maximum resident set size',
  'Average resident set size',
  'Major (requiring I/O) page faults',
  'Minor (reclaiming a frame) page faults',
  'Voluntary context switches',
  'Involuntary context switches',
  'Swaps',
  'File system inputs',
  'File system outputs',
  'Socket messages sent',
  'Socket messages received',
  'Signals delivered',
  'Page size (bytes)',
  'Exit status',
];

/** Empty for a line of `time` with nothing in it for us, undefined for any other line. */
export function readTime(text: string): ProcessTimes | undefined {
  if (text.length > 200) return undefined;
  const colon = text.indexOf(': ');
  const key = colon < 0 ? '' : text.slice(0, colon);
  const value = text.slice(colon + 2).trim();
  if (key === 'User time (seconds)') return times('userNs', Number(value));
  if (key === 'System time (seconds)') return times('systemNs', Number(value));
  if (key === 'Percent of CPU this job got') {
    const percent = Number(value.replace('%', ''));
    return Number.isFinite(percent) && percent >= 0 ? { cpuPercent: percent } : {};
  }
  if (text.startsWith('Elapsed (wall clock) time'))
    return times('elapsedNs', clock(text.slice(text.lastIndexOf('):') + 2).trim()));
  if (OTHER.some((other) => key.startsWith(other))) return {};
  const shell = /^(real|user|sys) {1,8}(\d{1,6})m ?(\d{1,2}(?:[.,]\d{1,3})?)s$/.exec(text);
  if (!shell) return undefined;
  const seconds = Number(shell[2]) * 60 + Number(shell[3]!.replace(',', '.'));
  return times(shell[1] === 'real' ? 'elapsedNs' : shell[1] === 'user' ? 'userNs' : 'systemNs', seconds);
}

function times(key: 'elapsedNs' | 'userNs' | 'systemNs', seconds: number): ProcessTimes {
  return Number.isFinite(seconds) && seconds >= 0 ? { [key]: Math.round(seconds * 1e9) } : {};
}

/** `0:18.03`, `1:02:03`, and BusyBox's `0m 18.03s`, `1h 2m 3s`. */
function clock(text: string): number {
  if (!/^[\d:hms. ]{1,24}$/.test(text)) return Number.NaN;
  const parts = text
    .replaceAll(/[hm] ?/g, ':')
    .replace('s', '')
    .split(':')
    .filter((part) => part !== '')
    .map(Number);
  return parts.reduce((sum, part) => sum * 60 + part, 0);
}
