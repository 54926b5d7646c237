/** A verdict for every outcome. The sentences are what people read, so they are written out. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compare, type Pair } from '#src/bench/comparison/index.js';
import type { Doubt, Measurement, ResultSet } from '#src/bench/model.js';
import { importResults } from '#src/interop/index.js';
import { verdict, verdictText } from '#src/report/verdict.js';
import { curve, MT7688, row, run, set } from '../bench/results.js';

function pairOf(...sets: ResultSet[]): Pair {
  return compare(sets, { labels: ['software', 'engine'] })[0]!.pairs[0]!;
}

const flat = { 16: 100, 64: 100, 256: 100, 1024: 100 };

test('crossing once', () => {
  const engine = curve('b', { 16: 50, 64: 80, 256: 250, 1024: 900 });
  assert.deepEqual(verdict(pairOf(curve('a', flat), engine)), {
    headline:
      'Below about 84 B software is faster, above it engine: at 16 B software is 2.0x as fast, at 1 KiB engine is 9.0x as fast',
    details: ['The lead changes between 64 and 256 B; the size is an estimate by interpolation'],
  });
  assert.match(
    verdictText(pairOf(engine, curve('a', flat))),
    /^Below about 84 B engine is faster, above it software: at 16 B engine is 2\.0x/,
    'the same from the other side, with the labels the other way round',
  );
});

test('an end that is even within the noise widens the bracket', () => {
  assert.match(
    verdictText(pairOf(curve('a', flat), curve('b', { 16: 50, 64: 102, 256: 250, 1024: 900 }))),
    /between 16 and 64 B; the size is an estimate [a-z ]+, and since the two are even at 64 B it may be anywhere between 16 and 256 B\./,
  );
});

test('always, never, mostly even, even, the same', () => {
  const say = (rates: Record<number, number>) =>
    verdict(pairOf(curve('a', flat), curve('b', rates))).headline;
  assert.equal(
    say({ 16: 150, 64: 200, 256: 400, 1024: 1600 }),
    'engine is faster than software at every size, 16 B to 1 KiB: 1.50x as fast at 16 B, 16.0x at 1 KiB',
  );
  assert.equal(
    say({ 16: 10, 64: 20, 256: 40, 1024: 80 }),
    'software is faster than engine at every size, 16 B to 1 KiB: 10.0x as fast at 16 B, 1.25x at 1 KiB',
  );
  assert.equal(
    say({ 16: 99, 64: 101, 256: 200, 1024: 300 }),
    'engine is never slower than software, and even with it at 16 B and 64 B: 2.0x as fast at 256 B, 3.0x at 1 KiB',
  );
  assert.equal(
    say({ 16: 99, 64: 101, 256: 100, 1024: 300 }),
    'engine is faster than software at one size only, and even with it at the others: 3.0x as fast at 1 KiB',
  );
  assert.equal(
    say({ 16: 99, 64: 101, 256: 100, 1024: 102 }),
    'software and engine are even at all sizes, 16 B to 1 KiB: never more than 2 % apart',
  );
  assert.equal(say(flat), 'software and engine have the same figures at all sizes, 16 B to 1 KiB');
});

test('to and fro', () => {
  assert.equal(
    verdict(pairOf(curve('a', flat), curve('b', { 16: 50, 64: 150, 256: 20, 1024: 300 }))).headline,
    'software and engine take turns: the lead changes 3 times, between 16 and 64 B, between 64 and 256 B, between 256 B and 1 KiB; at most engine is 3.0x as fast (1 KiB), software is 5.0x as fast (256 B)',
  );
});

test('one size, no size, no figure', () => {
  const say = (a: ResultSet, b: ResultSet) => verdictText(pairOf(a, b));
  assert.equal(
    say(curve('a', { 64: 100 }), curve('b', { 64: 350 })),
    'engine is 3.5x as fast as software at 64 B.',
  );
  assert.equal(
    say(curve('a', { 64: 100 }), curve('b', { 64: 25 })),
    'software is 4.0x as fast as engine at 64 B.',
  );
  assert.equal(
    say(curve('a', { 64: 100 }), curve('b', { 64: 102 })),
    'software and engine are even at 64 B (1.02x).',
  );
  assert.equal(
    say(curve('a', { 64: 100 }), curve('b', { 16: 1, 1500: 9 })),
    'No size in common: software has 64 B, engine 16 B and 1500 B.',
  );
  assert.equal(
    say(curve('a', { 64: 100 }), set('b', [run([row(64, undefined, { status: 'unavailable' })])])),
    'engine has nothing to compare: it is not available there.',
  );
});

const cpu = (userNs: number, systemNs?: number): Partial<Measurement> => ({
  requests: 1,
  userNs,
  ...(systemNs === undefined ? {} : { systemNs }),
});

test('CPU time: freed by the faster, by the slower, by neither; or part of it unknown', () => {
  const say = (engineRate: number, software: Partial<Measurement>, engine: Partial<Measurement>) =>
    verdictText(pairOf(curve('a', { 1000: 100 }, software), curve('b', { 1000: engineRate }, engine)));
  assert.equal(
    say(1600, cpu(900, 100), cpu(10, 40)),
    'engine is 16.0x as fast as software at 1000 B and frees the CPU (95 % less CPU time).',
  );
  assert.equal(
    say(1600, cpu(900, 100), cpu(400, 200)),
    'engine is 16.0x as fast as software at 1000 B and takes 40 % less CPU time.',
  );
  assert.equal(
    say(50, cpu(900, 100), cpu(50, 50)),
    'software is 2.0x as fast as engine at 1000 B. Though slower at 1000 B, engine takes 90 % less CPU time for the same work.',
  );
  assert.equal(
    say(100, cpu(900, 100), cpu(50, 50)),
    'software and engine are even at 1000 B. At 1000 B engine takes 90 % less CPU time for the same work.',
  );
  assert.equal(say(1600, cpu(900, 100), cpu(850, 100)), 'engine is 16.0x as fast as software at 1000 B.');
  assert.equal(
    say(1600, cpu(900), cpu(1)),
    'engine is 16.0x as fast as software at 1000 B. At 1000 B the process itself takes over 99 % less CPU time with engine; what the kernel takes is not known.',
  );
});

test('doubts that the verdict hangs on are said with it', () => {
  const doubt = (code: Doubt['code']): Partial<Measurement> => ({ doubts: [{ code, text: 'x' }] });
  const say = (code: Doubt['code']) =>
    verdictText(pairOf(curve('a', { 64: 100, 256: 100 }), curve('b', { 64: 200, 256: 300 }, doubt(code))));
  assert.match(
    say('WRONG_OUTPUT'),
    /engine gave wrong output at every size: its figures there mean nothing\.$/,
  );
  assert.match(say('NOISY'), /The rounds of engine spread widely at every size\.$/);
  const some = set('b', [run([row(64, 200, doubt('NOISY')), row(256, 300)])]);
  assert.match(
    verdictText(pairOf(curve('a', { 64: 100, 256: 100 }), some)),
    /The rounds of engine spread widely at 64 B\.$/,
  );
  assert.match(
    say('ENGINE_NOT_LOADED'),
    /The engine that engine asked for was not loaded: this is software on the CPU\.$/,
  );
  assert.match(say('BASIS_UNKNOWN'), /Whether engine divided by elapsed or by CPU time is not known\.$/);
  const open = row(64, 5);
  const { operation: _, ...unnamed } = open;
  assert.match(
    verdictText(pairOf(set('a', [run([open])]), set('b', [run([unnamed])]))),
    /engine does not say which operation it measured\.$/,
  );
});

test('what was printed is told where it says something else', () => {
  const sets = [MT7688.software, MT7688.engine].flatMap((text) => importResults(text).sets);
  const text = verdictText(pairOf(...sets));
  assert.match(text, /^Below about 8\d B software is faster, above it engine: at 16 B software is 4\.5x/);
  assert.match(text, /at 8 KiB engine is 15\.5x as fast\./);
  assert.match(
    text,
    /By the printed figures engine would be 41\dx as fast at 8 KiB, which were divided by CPU time\.$/,
  );
});

test('whatever the figures, a verdict is made of words and numbers', () => {
  const rates = fc.dictionary(
    fc.constantFrom('1', '16', '100', '4096', '1048576'),
    fc.double({ min: 1e-3, max: 1e18, noNaN: true }),
    { minKeys: 1 },
  );
  const more = fc.record({
    requests: fc.constant(7),
    userNs: fc.double({ min: 0, max: 1e15, noNaN: true }),
    systemNs: fc.double({ min: 0, max: 1e15, noNaN: true }),
    claimedBytesPerSecond: fc.double({ min: 0, max: 1e18, noNaN: true }),
  });
  fc.assert(
    fc.property(rates, rates, more, more, (a, b, extraA, extraB) => {
      const text = verdictText(pairOf(curve('a', a, extraA), curve('b', b, extraB)));
      assert.doesNotMatch(text, /NaN|Infinity|undefined|null|\[object/);
      assert.match(text, /\.$/);
    }),
    { numRuns: 500 },
  );
});

test('what the noise hides is not called even', () => {
  const rounds = { values: [50, 100, 300], spread: 2 } as unknown as NonNullable<Measurement['rounds']>;
  const say = (rates: Record<number, number>) =>
    verdict(pairOf(curve('a', flat, { rounds }), curve('b', rates, { rounds }))).headline;
  assert.equal(
    say({ 64: 50 }),
    'software and engine cannot be told apart at 64 B (0.50x): the rounds spread too widely',
  );
  assert.equal(say({ 64: 102 }), 'software and engine are even at 64 B (1.02x)');
  assert.equal(
    say({ 16: 50, 64: 100 }),
    'software and engine cannot be told apart, 16 B to 64 B: up to 2.0x, but the rounds spread too widely',
  );
  assert.equal(
    say({ 16: 50, 64: 101, 256: 900, 1024: 1000 }),
    'engine is never slower than software, and even with it at 64 B, and not to be told apart from it at 16 B (the rounds spread too widely): 9.0x as fast at 256 B, 10.0x at 1 KiB',
  );
});
