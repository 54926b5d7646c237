/** `hwcrypt explain`: who would do a request of a size, and why. */
import { findAlgorithm, suggest } from '../../algorithms.js';
import { DEFAULT_REQUEST_BYTES, open } from '../../api/instance.js';
import { HwcryptError } from '../../errors.js';
import { routingText } from '../../report/routing.js';
import { POLICY_OPTIONS, routingOf } from '../drivers.js';
import type { CommandSpec, Given } from '../options.js';
import { sizeOf } from '../sizes.js';
import { terminalColumns, writeText } from '../stdio.js';

export const command: CommandSpec = {
  name: 'explain',
  summary: 'Who would do a request of a size, and why.',
  usage: 'ALGORITHM [options]',
  operands: 1,
  options: [
    {
      names: ['--bytes'],
      value: 'N[K|M|G]',
      help: 'Bytes of the request (8K, which is what openssl enc asks for at a time)',
    },
    { names: ['-d'], help: 'Decrypt' },
    {
      names: ['--driver'],
      value: 'NAME[:IMPL],…',
      help: 'Choose among these drivers, in this order',
    },
    // Nothing is done, so nothing is compared.
    ...POLICY_OPTIONS.filter(({ names }) => !names.includes('--verify')).map(
      ({ section, ...option }) => option,
    ),
    { names: ['--json'], help: 'JSON, as docs/json.md describes it' },
  ],
  notes:
    'The policy is `fastest` unless another one is named: by the costs that `hwcrypt calibrate` measured.',
  run,
};

async function run(given: Given, [name]: readonly string[]): Promise<number> {
  if (name === undefined) throw new HwcryptError('USAGE', 'which algorithm? hwcrypt explain aes-128-cbc');
  const algorithm = findAlgorithm(name);
  if (algorithm === undefined) {
    const near = suggest(name).slice(0, 3);
    throw new HwcryptError(
      'USAGE',
      `unknown algorithm: ${name} (${near.length > 0 ? `did you mean ${near.join(' or ')}?` : 'see hwcrypt list algorithms'})`,
    );
  }
  const { drivers, policy = 'fastest' } = routingOf(given);
  if (given.has('d') && algorithm.kind !== 'cipher' && algorithm.kind !== 'aead') {
    throw new HwcryptError('USAGE', `${algorithm.name} does not decrypt: -d has no effect`);
  }
  using hwcrypt = open({ policy, ...(drivers ? { drivers } : {}), onFallback: () => {} });
  const told = hwcrypt.explain(algorithm.name, {
    bytes: sizeOf(given, 'bytes') ?? DEFAULT_REQUEST_BYTES,
    direction: given.has('d') ? 'decrypt' : 'encrypt',
  });
  writeText(given.has('json') ? `${JSON.stringify(told, null, 2)}\n` : routingText(told, terminalColumns()));
  return 0;
}
