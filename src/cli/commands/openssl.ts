/** `hwcrypt openssl`: which engines this system's OpenSSLs can use, whether they do, and a configuration for what was measured. */
import {
  configuration,
  nodeOpenssl,
  opensslPrograms,
  type SurveyedOpenssl,
  surveyOpenssl,
} from '../../doctor/index.js';
import { HwcryptError } from '../../errors.js';
import { opensslText } from '../../report/openssl.js';
import { inAscii } from '../../report/text.js';
import type { CommandSpec, Given } from '../options.js';
import { isTerminal, terminalColumns, utf8Locale, writeError, writeResult, writeText } from '../stdio.js';

const FORMS = ['cnf', 'uci'] as const;

export const command: CommandSpec = {
  name: 'openssl',
  summary: 'Which engines and providers this system’s OpenSSLs can use, and by measurement whether they do.',
  usage: '[options]',
  options: [
    { names: ['--quick'], help: 'Ask, and measure nothing' },
    {
      names: ['--config'],
      value: 'cnf|uci',
      help: 'Instead: configuration for what was measured, for openssl.cnf or OpenWrt, on standard output only',
    },
    { names: ['--engine'], value: 'NAME', help: 'With --config: this engine, not the one that wins first' },
    { names: ['--json'], help: 'JSON, as docs/json.md describes it' },
  ],
  rules: [
    { of: '--json', beside: ['--config'] },
    { of: '--quick', beside: ['--config'] },
  ],
  notes: `Measuring takes six seconds for software, and six for each engine.

Exit status: 0 done, 1 no OpenSSL here or nothing to configure, 2 wrong command line.`,
  run,
};

async function run(given: Given): Promise<number> {
  const form = given.get('config');
  const engine = given.get('engine');
  if (form !== undefined && !FORMS.some((own) => own === form)) {
    throw new HwcryptError('USAGE', `--config takes ${FORMS.join(' or ')}, not "${form}"`);
  }
  if (engine !== undefined && form === undefined)
    throw new HwcryptError('USAGE', '--engine has no effect without --config');
  const measured = !given.has('quick');
  if (measured && isTerminal())
    writeError('hwcrypt: openssl: measuring; six seconds for software and for each engine');
  const found: SurveyedOpenssl[] = [];
  for (const path of opensslPrograms()) {
    const one = await surveyOpenssl(path, measured);
    if (one) found.push(one);
  }
  if (form !== undefined) return configure(found, form as (typeof FORMS)[number], engine);
  found.push(nodeOpenssl());
  if (given.has('json')) writeText(`${JSON.stringify(found.map(plain), null, 2)}\n`);
  else {
    const text = opensslText(found, terminalColumns());
    writeText(utf8Locale() ? text : inAscii(text));
  }
  return found.length > 1 ? 0 : 1;
}

function configure(
  found: readonly SurveyedOpenssl[],
  form: (typeof FORMS)[number],
  wanted: string | undefined,
): number {
  const all = found.flatMap(({ engines, version }) =>
    engines
      .filter(({ proof, id }) => proof !== undefined && (wanted === undefined || id === wanted))
      .map(({ id, proof }) => configuration(form, id, proof, version)),
  );
  const best =
    all.find(({ worthIt }) => worthIt) ?? all[0] ?? configuration(form, wanted ?? 'devcrypto', undefined);
  writeResult(utf8Locale() ? best.text : inAscii(best.text));
  return best.worthIt ? 0 : 1;
}

/** Without the curves, which `speed` has in full. */
function plain({ path, version, engines, providers }: SurveyedOpenssl): object {
  return {
    ...(path === undefined ? {} : { path }),
    version,
    providers,
    engines: engines.map(({ id, state, algorithms, proof }) => ({
      id,
      state,
      algorithms,
      ...(proof
        ? {
            used: proof.used,
            ...(proof.interrupts === undefined ? {} : { interrupts: proof.interrupts }),
            ...(proof.pair
              ? {
                  crossover: proof.pair.crossover,
                  ratios: proof.pair.ratios.map(({ requestBytes, ratio }) => ({ requestBytes, ratio })),
                }
              : {}),
          }
        : {}),
    })),
  };
}
