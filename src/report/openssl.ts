/** What the OpenSSLs of this machine can use, and whether they do, as text. Room `report`. */
import { roughSize, times } from '../bench/units.js';
import type { EngineProof, SurveyedEngine, SurveyedOpenssl } from '../doctor/index.js';
import { wrap } from './text.js';

const STATES: Readonly<Record<SurveyedEngine['state'], string>> = {
  available: 'available',
  refused: 'installed, and does not start: what it needs of the kernel is not there (see hwcrypt doctor)',
  absent: 'not installed',
  removed: 'OpenSSL 4 has no engines',
};

export function opensslText(found: readonly SurveyedOpenssl[], columns = 80): string {
  const lines: string[] = [];
  for (const { path, version, engines, providers } of found) {
    lines.push(`OpenSSL ${version}, ${path ?? 'inside of Node'}`);
    if (path === undefined) {
      lines.push(
        ...item(
          'engines',
          'none; its programs reach hardware by hwcrypt’s drivers afalg and cryptodev',
          columns,
        ),
      );
    }
    for (const engine of engines) lines.push(...item(engine.id, engineWords(engine), columns));
    if (providers.length > 0) {
      lines.push(
        ...item(
          'providers',
          `${providers.join(', ')}${providers.every((name) => SOFTWARE.has(name)) ? '; software on the CPU, all of it' : ''}`,
          columns,
        ),
      );
    }
    lines.push('');
  }
  return `${lines.join('\n').trimEnd()}\n`;
}

/** OpenSSL's own providers. */
const SOFTWARE: ReadonlySet<string> = new Set(['default', 'base', 'legacy', 'fips', 'null']);

function engineWords({ state, proof }: SurveyedEngine): string {
  if (state !== 'available' || !proof) return STATES[state];
  return proofWords(proof);
}

export function proofWords({ used, interrupts, pair }: EngineProof): string {
  const rose = interrupts === undefined ? '' : `; the hardware interrupted ${interrupts} times meanwhile`;
  if (used === 'wrong')
    return 'gives wrong results: a known text comes out otherwise than from OpenSSL’s own code; leave it off';
  if (used === 'no' || !pair) return `available, and not used when it was asked for${rose}`;
  if (used === 'unclear') return `asked for, and no difference from OpenSSL’s own code${rose}`;
  const [low, high] = [pair.ratios[0]!, pair.ratios.at(-1)!];
  const ends = [low, high].map(
    ({ ratio, requestBytes }) =>
      `${ratio >= 1 ? `${times(ratio)} as fast` : `${times(1 / ratio)} slower`} at ${requestBytes} B`,
  );
  const up = pair.crossover.crossings.findLast(({ above }) => above === 'faster');
  const worth = up
    ? `wins from about ${roughSize(up.estimateBytes)} on`
    : pair.crossover.kind === 'always-faster'
      ? 'wins at every size'
      : 'wins nowhere';
  if (used === 'doubtful')
    return `not to be believed: ${ends.join(', ')}, which no engine can be; look what it does${rose}`;
  return `used: ${ends.join(', ')}; ${worth}${rose}`;
}

function item(name: string, words: string, columns: number): string[] {
  const [first = '', ...more] = wrap(words, Math.max(30, columns - 14));
  return [`  ${name.padEnd(11)} ${first}`, ...more.map((line) => `${' '.repeat(14)}${line}`)];
}
