/**
 * hwcrypt's own JSON: the result model as it is (`src/bench/model.ts`), one set or a list of them. Reading checks against `RESULTS_SCHEMA` and keeps
 * only what the schema names, so that a file from elsewhere brings in nothing else.
 */
import { RESULTS_FORMAT, RESULTS_SCHEMA, RESULTS_VERSION, type ResultSet } from '../bench/model.js';
import { HwcryptError } from '../errors.js';
import { conform } from '../schema.js';
import { MAX_INPUT, printable } from './text.js';

/** Two blanks of indentation, properties in the model's order, one line feed at the end. A single set is not put in a list. */
export function writeJson(results: ResultSet | readonly ResultSet[]): string {
  return `${JSON.stringify(results, null, 2)}\n`;
}

/** Is this hwcrypt's JSON, or a beginning of it? */
export function looksLikeJson(text: string): boolean {
  return (
    /^[\ufeff\s]{0,100}(?:\[\s{0,100})?\{/.test(text) && text.slice(0, 4000).includes(`"${RESULTS_FORMAT}"`)
  );
}

/** Throws `INPUT_FILE` with the place and the reason where the text is no result file of a version that this hwcrypt knows. */
export function readJson(text: string): ResultSet[] {
  if (text.length > MAX_INPUT)
    throw new HwcryptError('INPUT_FILE', `the text is larger than ${MAX_INPUT / 2 ** 20} MiB`);
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\ufeff/, ''));
  } catch (cause) {
    throw new HwcryptError('INPUT_FILE', 'not whole JSON', { cause });
  }
  const sets = Array.isArray(value) ? value : [value];
  return sets.map((set, index) => {
    const where = Array.isArray(value) ? `[${index}]` : 'the file';
    if (typeof set !== 'object' || set === null) throw invalid(where, 'no object');
    const { format, version } = set as { format?: unknown; version?: unknown };
    if (format !== RESULTS_FORMAT) throw invalid(where, `its format is not "${RESULTS_FORMAT}"`);
    if (typeof version === 'number' && version > RESULTS_VERSION) {
      throw invalid(where, `version ${version} is newer than this hwcrypt knows (${RESULTS_VERSION})`);
    }
    return conform(RESULTS_SCHEMA, set, where, printable) as ResultSet;
  });
}

function invalid(where: string, what: string): HwcryptError {
  return new HwcryptError('INPUT_FILE', `${where}: ${what}`);
}
