/** Engines weighed by two outputs of openssl speed, and the configuration that comes of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configuration, weigh } from '#src/doctor/index.js';
import { proofWords } from '#src/report/openssl.js';
import { counts, ELAPSED, speed } from '../helpers.js';

const SOFTWARE = `${ELAPSED}${speed('AES-128-CBC', counts(500, 82))}version: 3.0.15\n`;
const engine = (fixedNs: number, nsPerByte: number): string =>
  `Engine "devcrypto" set.\n${ELAPSED}${speed('AES-128-CBC', counts(fixedNs, nsPerByte))}version: 3.0.15\n`;

test('used: other figures than software’s, or interrupts', () => {
  const proof = weigh(SOFTWARE, engine(37_000, 16.4), 'devcrypto', 64_000);
  assert.equal(proof.used, 'yes');
  assert.equal(proof.pair?.crossover.kind, 'crosses');
  assert.match(
    proofWords(proof),
    /^used: 20\.6x slower at 16 B, 4\.\dx as fast at 16384 B; wins from about 5[0-9]0 B on; the hardware interrupted 64000 times meanwhile$/,
  );
  const same = weigh(SOFTWARE, engine(500, 82), 'devcrypto');
  assert.equal(same.used, 'unclear');
  assert.match(proofWords(same), /no difference/);
  assert.equal(
    weigh(SOFTWARE, engine(500, 82), 'devcrypto', 12).used,
    'yes',
    'interrupts are the better proof',
  );
});

test('not used: the engine was not loaded, and the table is software’s', () => {
  const proof = weigh(SOFTWARE, `Invalid engine "devcrypto"\n${SOFTWARE}`, 'devcrypto');
  assert.equal(proof.used, 'no');
  assert.match(proofWords(proof), /not used when it was asked for/);
  assert.equal(weigh(SOFTWARE, '', 'devcrypto').used, 'no');
});

test('openssl.cnf for programs with large requests, with the measured size in it', () => {
  const { worthIt, text } = configuration(
    'cnf',
    'devcrypto',
    weigh(SOFTWARE, engine(37_000, 16.4), 'devcrypto').pair,
  );
  assert.equal(worthIt, true);
  assert.match(
    text,
    /^# devcrypto on this machine.*faster from about 5[0-9]0 B a request on \(256 B slower, 1024 B faster\)/,
  );
  assert.match(text, /\n\[devcrypto_section\]\nengine_id = devcrypto\n/);
  assert.match(text, /\nDIGESTS = NONE\n/);
  // Engines other than devcrypto refuse commands that they do not know, and OpenSSL with them the whole file.
  assert.doesNotMatch(
    configuration('cnf', 'afalg', weigh(SOFTWARE, engine(37_000, 16.4), 'devcrypto').pair).text,
    /DIGESTS|USE_SOFT/,
  );
});

test('UCI of OpenWrt, each line a comment or a command', () => {
  const { text } = configuration('uci', 'devcrypto', weigh(SOFTWARE, engine(37_000, 16.4), 'devcrypto').pair);
  assert.match(text, /^uci set openssl\.devcrypto\.enabled='1'$/m);
  for (const line of text.split('\n'))
    assert.match(line, /^(?:#.*|uci (?:set|commit) \S+|\/etc\/init\.d\/openssl restart|)$/);
});

test('nothing to turn on where it never wins, or was not measured', () => {
  const never = configuration('cnf', 'afalg', weigh(SOFTWARE, engine(90_000, 200), 'devcrypto').pair);
  assert.equal(never.worthIt, false);
  assert.match(
    never.text,
    /^# Nothing to turn on: measured here, afalg is faster .* at no request size\.\n$/,
  );
  assert.match(
    configuration('uci', 'devcrypto', undefined).text,
    /^# Nothing to turn on: no engine could be measured\.\n$/,
  );
});
