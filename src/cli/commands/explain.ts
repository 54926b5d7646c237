/** `hwcrypt explain`: who would do a request of a size, and why. */
import { findAlgorithm, suggest } from '../../algorithms.js';
import { open } from '../../api/index.js';
import { HwcryptError } from '../../errors.js';
import { routingText } from '../../report/routing.js';
import { POLICY_OPTIONS, routingOf } from '../drivers.js';
import type { CommandSpec, Given } from '../options.js';
import { terminalColumns, writeText } from '../stdio.js';

export const command: CommandSpec = {
  name: 'explain',
  summary: 'Who would do a request of a size, and why.',
  usage: 'ALGORITHM [options]',
  operands: 1,
  options: [
    { names: ['--bytes'], value: 'N', help: 'Bytes of the request (8192)' },
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
    bytes: given.number('bytes', 0, 2 ** 32 - 1) ?? 8192,
    direction: given.has('d') ? 'decrypt' : 'encrypt',
  });
  writeText(given.has('json') ? `${JSON.stringify(told, null, 2)}\n` : routingText(told, terminalColumns()));
  return 0;
}
