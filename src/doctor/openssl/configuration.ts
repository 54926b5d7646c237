/** Configuration that gives an engine to the programs which gain by it: openssl.cnf, or OpenWrt's UCI. Text only; nobody writes it anywhere. */
import { roughSize } from '../../bench/units.js';
import type { CurvePair } from '../case.js';
import { versionAtLeast } from '../facts/openssl.js';
import type { EngineProof } from './survey.js';

export type ConfigurationForm = 'cnf' | 'uci';

export interface Configuration {
  /** Is there a size from which on the engine wins? Otherwise the text says why there is nothing to turn on. */
  readonly worthIt: boolean;
  readonly text: string;
}

/**
 * @param proof the engine beside software; absent where nothing was measured
 * @param version the OpenSSL that is configured; OpenWrt's files moved with OpenSSL 3
 */
export function configuration(
  form: ConfigurationForm,
  engine: string,
  proof: EngineProof | undefined,
  version?: string,
): Configuration {
  if (proof?.used === 'wrong' || proof?.used === 'doubtful') {
    const why =
      proof.used === 'wrong'
        ? 'gives wrong results here, which OpenSSL’s own code does not'
        : 'was measured to be faster than any engine can be';
    return { worthIt: false, text: `# Nothing to turn on: ${engine} ${why}.\n` };
  }
  const pair = proof?.pair;
  const from = winsFrom(pair);
  if (from === undefined) {
    return {
      worthIt: false,
      text: `# Nothing to turn on: ${pair ? `measured here, ${engine} is faster than OpenSSL’s own code at no request size` : 'no engine could be measured'}.\n`,
    };
  }
  const head = [
    `# ${engine} on this machine, AES-128-CBC by the clock on the wall: ${from.words}.`,
    '# The engine itself has no threshold: whatever is smaller gets slower by it. So this is for programs with requests',
    '# above that size, one by one, and not for the whole system.',
  ];
  return {
    worthIt: true,
    text: `${[...head, '', ...(form === 'cnf' ? cnf(engine) : uci(engine, version))].join('\n')}\n`,
  };
}

function winsFrom(pair: CurvePair | undefined): { readonly words: string } | undefined {
  const { kind, crossings = [] } = pair?.crossover ?? {};
  if (kind === 'always-faster') return { words: 'faster at every size that was measured' };
  const up = crossings.findLast(({ above }) => above === 'faster');
  return up && (kind === 'crosses' || kind === 'several')
    ? {
        words: `faster from about ${roughSize(up.estimateBytes)} a request on (${up.between[0]} B slower, ${up.between[1]} B faster)`,
      }
    : undefined;
}

/** e_devcrypto.c knows these commands; the others take none. */
function options(engine: string): string[] {
  return engine === 'devcrypto'
    ? [
        '# 0: only kernel drivers known to be accelerated; 1: all, plain software too; 2: also those of which it cannot be',
        '# known. 2 is the default, with which the figures above were measured',
        'USE_SOFTDRIVERS = 2',
        '# The cipher that was measured; others gain where openssl speed -elapsed -evp NAME -engine devcrypto says so',
        'CIPHERS = AES-128-CBC',
        '# Sessions of digests do not outlive fork(), which breaks sshd and nginx',
        'DIGESTS = NONE',
      ]
    : [];
}

function cnf(engine: string): string[] {
  return [
    `# As a file of its own, say /etc/ssl/with-${engine}.cnf:  OPENSSL_CONF=/etc/ssl/with-${engine}.cnf program`,
    'openssl_conf = openssl_init',
    '',
    '[openssl_init]',
    'engines = engines_section',
    '',
    '[engines_section]',
    `${engine} = ${engine}_section`,
    '',
    `[${engine}_section]`,
    `engine_id = ${engine}`,
    ...options(engine),
    'default_algorithms = CIPHERS',
    'init = 1',
  ];
}

/**
 * As a script, since OpenWrt has both a file and UCI: its /etc/init.d/openssl looks for the section in the file and for the engine's library, and lists in
 * /var/etc/ssl/engines.cnf what UCI turns on. With OpenSSL 3 (OpenWrt 23.05) folder and section got other names.
 */
function uci(engine: string, version: string | undefined): string[] {
  const since3 = version === undefined || versionAtLeast(version, 3);
  const file = `/etc/ssl/${since3 ? 'modules' : 'engines'}.cnf.d/${engine}.cnf`;
  return [
    '# A script for the router: the options of the engine, in the place of those that its package brought, and UCI, which',
    '# turns it on for all programs that read the system’s openssl.cnf. To undo it: enabled=0.',
    ...(since3 ? [] : ['# OpenWrt before 23.05; later ones have /etc/ssl/modules.cnf.d.']),
    `cat > ${file} << 'END'`,
    `[${engine}${since3 ? '_sect' : ''}]`,
    ...options(engine),
    'default_algorithms = CIPHERS',
    'END',
    `uci set openssl.${engine}=engine`,
    `uci set openssl.${engine}.enabled='1'`,
    'uci commit openssl',
    '/etc/init.d/openssl restart',
  ];
}
