/**
 * The table of known answers is complete, is what every driver of this machine computes, and says truly where its lines come from. What
 * only one implementation has is made here from a simpler mode of another one.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { type Algorithm, algorithms, findAlgorithm } from '#src/algorithms.js';
import { allDrivers, getDriver } from '#src/drivers/registry.js';
import { knownAnswers } from '#src/routing/trust/check.js';
import { bytesOf, hexOf } from '#src/routing/trust/failure.js';
import { publishedAnswer, transcriptAnswer } from '#src/routing/trust/known-answers.js';
import { doNow, type Outcome, perform } from '#src/routing/trust/perform.js';
import { ruleBytes, transcript, transcriptDigest } from '#src/routing/trust/transcript.js';
import { keyAt } from '#src/routing/trust/trial.js';
import { vectorsFolder } from '../../../helpers/vectors.js';

function known(name: string): Algorithm {
  const algorithm = findAlgorithm(name);
  assert.ok(algorithm, name);
  return algorithm;
}

test('every algorithm of the table has an answer', () => {
  for (const algorithm of algorithms()) {
    const answer = transcriptAnswer(algorithm);
    assert.match(answer?.digest ?? '', /^[0-9a-f]{32}$/, algorithm.name);
    assert.match(answer?.agreed ?? '', /^[glnk]+$/, algorithm.name);
  }
  assert.equal(transcriptAnswer({ ...known('sha256'), name: 'sha25' }), undefined);
});

describe('drivers give the answers', () => {
  const letters: Record<string, string> = { libcrypto: 'l', gcrypt: 'g', nettle: 'n' };
  for (const driver of allDrivers()) {
    const probe = driver.probe();
    test(driver.name, { skip: !probe.available && probe.reason.message }, () => {
      const letter = letters[driver.name];
      for (const algorithm of algorithms()) {
        if (!driver.supports(algorithm).supported) continue;
        const outcomes: Outcome[][] = [];
        doNow(perform({ driver }, transcript(algorithm), undefined, outcomes));
        assert.deepEqual(
          outcomes[0]!.filter(({ refused }) => refused),
          [],
          algorithm.name,
        );
        const { digest, agreed } = transcriptAnswer(algorithm)!;
        assert.equal(transcriptDigest(outcomes[0]!), digest, algorithm.name);
        const { evidence, checks } = knownAnswers(algorithm, { driver });
        assert.equal(evidence, undefined, algorithm.name);
        assert.ok(checks >= 10, algorithm.name);
        if (letter !== undefined) assert.ok(agreed.includes(letter), `${algorithm.name}: ${agreed}`);
      }
    });
  }
});

/** A block through another driver's ECB. */
function blocks(name: string, key: Uint8Array, driver: string): (block: Uint8Array) => Uint8Array {
  const algorithm = known(name);
  assert.ok(algorithm.kind === 'cipher');
  const session = getDriver(driver).cipher(algorithm, 'encrypt', key, null);
  return (block) => {
    const output = new Uint8Array(block.length);
    session.update(block, output);
    return output;
  };
}

/** SP 800-38A 6.3 with segments of one bit. */
function cfb1(encrypt: (block: Uint8Array) => Uint8Array, iv: Uint8Array, input: Uint8Array): Uint8Array {
  const output = new Uint8Array(input.length);
  let register = BigInt(`0x${Buffer.from(iv).toString('hex')}`);
  const all = (1n << BigInt(8 * iv.length)) - 1n;
  for (let bit = 0; bit < 8 * input.length; bit++) {
    const text = register.toString(16).padStart(2 * iv.length, '0');
    const key = encrypt(Uint8Array.from(Buffer.from(text, 'hex')))[0]! >> 7;
    const coded = ((input[bit >> 3]! >> (7 - (bit & 7))) & 1) ^ key;
    output[bit >> 3]! |= coded << (7 - (bit & 7));
    register = ((register << 1n) | BigInt(coded)) & all;
  }
  return output;
}

function ofb(encrypt: (block: Uint8Array) => Uint8Array, iv: Uint8Array, input: Uint8Array): Uint8Array {
  let stream = iv;
  return input.map((byte, i) => {
    if (i % iv.length === 0) stream = encrypt(stream);
    return byte ^ stream[i % iv.length]!;
  });
}

/** The digest of a transcript whose messages `answer` gives. */
function digestBy(algorithm: Algorithm, answer: (iv: Uint8Array, input: Uint8Array) => Uint8Array): string {
  return transcriptDigest(
    transcript(algorithm).sessions[0]!.map(({ iv, input }) => ({
      output: answer(iv ?? new Uint8Array(), input),
    })),
  );
}

describe('what only one implementation has is the same by another way', () => {
  const gone = ['gcrypt', 'nettle'].some((name) => !getDriver(name).probe().available);
  const skip = gone && 'without libgcrypt and nettle';

  test('CFB by bits, from the ECB of libgcrypt', { skip }, () => {
    for (const stem of ['aes-192', 'camellia-256', 'des-ede3', 'des']) {
      const algorithm = known(`${stem}-cfb1`);
      const key = keyAt(transcript(algorithm).sessions[0]!, 0);
      const encrypt = blocks(stem === 'des-ede3' ? stem : `${stem}-ecb`, key, 'gcrypt');
      const digest = digestBy(algorithm, (iv, input) => cfb1(encrypt, iv, input));
      assert.equal(digest, transcriptAnswer(algorithm)!.digest, algorithm.name);
    }
  });

  test('OFB of Twofish with 192 bits, from the ECB of nettle', { skip }, () => {
    const algorithm = known('twofish-192-ofb');
    const encrypt = blocks('twofish-192-ecb', keyAt(transcript(algorithm).sessions[0]!, 0), 'nettle');
    const digest = digestBy(algorithm, (iv, input) => ofb(encrypt, iv, input));
    assert.equal(digest, transcriptAnswer(algorithm)!.digest);
  });

  test('DES with two keys is DES with three, of which the third is the first', { skip }, () => {
    for (const mode of ['', '-cbc', '-cfb', '-ofb']) {
      const algorithm = known(`des-ede${mode}`);
      const two = ruleBytes(1, 16);
      const three = new Uint8Array(Buffer.concat([two, two.subarray(0, 8)]));
      const other = known(`des-ede3${mode}`);
      assert.ok(other.kind === 'cipher');
      const digest = digestBy(algorithm, (iv, input) => {
        const output = new Uint8Array(input.length);
        using session = getDriver('gcrypt').cipher(other, 'encrypt', three, iv.length > 0 ? iv : null);
        session.update(input, output);
        return output;
      });
      assert.equal(digest, transcriptAnswer(algorithm)!.digest, algorithm.name);
    }
  });

  test('MD5-SHA1 is both, one behind the other', () => {
    const algorithm = known('md5-sha1');
    const hash = (name: string, data: Uint8Array): Buffer => createHash(name).update(data).digest();
    const digest = digestBy(algorithm, (_, input) =>
      Buffer.concat([hash('md5', input), hash('sha1', input)]),
    );
    assert.equal(digest, transcriptAnswer(algorithm)!.digest);
  });
});

test('what is said to be published is', (t) => {
  let folder: string;
  try {
    folder = vectorsFolder();
  } catch {
    t.skip('no vectors here');
    return;
  }
  let count = 0;
  for (const algorithm of algorithms()) {
    const answer = publishedAnswer(algorithm);
    // A file of bits writes them as such.
    if (!answer?.source.includes('/') || algorithm.name.endsWith('cfb1')) continue;
    const digits = readFileSync(join(folder, answer.source), 'latin1').replaceAll(' ', '').toLowerCase();
    for (const bytes of [answer.output, answer.tag ?? answer.output]) {
      assert.ok(digits.includes(Buffer.from(bytes).toString('hex')), `${algorithm.name}: ${answer.source}`);
    }
    count++;
  }
  assert.ok(count > 80, `only ${count}`);
});

test('hex of evidence comes back as it was, and anything else is refused', () => {
  for (const bytes of [
    [],
    [0],
    [1, 2, 255],
    Array(15).fill(7),
    Array(16).fill(7),
    [1, ...Array(5000).fill(0), 2],
  ]) {
    const view = Uint8Array.from(bytes);
    assert.deepEqual(bytesOf(hexOf(view)), view);
  }
  assert.equal(hexOf(new Uint8Array(17)), '00{17}');
  for (const text of ['0', 'xx', '00{', '{3}', '00{x}', '00 00'])
    assert.throws(() => bytesOf(text), SyntaxError);
});
