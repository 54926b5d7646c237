/** The lists of `hwcrypt list` as text: what is shown, and how wide. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type AlgorithmEntry,
  algorithmsText,
  type DriverEntry,
  driversText,
  type KernelEntry,
  kernelText,
} from '#src/report/inventory.js';

const long = 'this kernel has no AF_ALG (use another driver; '.repeat(4);

const drivers: DriverEntry[] = [
  { name: 'node', available: true, version: 'node:crypto of Node 20' },
  { name: 'afalg', available: false, reason: { code: 'AF_ALG_ABSENT', message: long } },
];

const entry = (name: string, supported: boolean): AlgorithmEntry => ({
  name,
  kind: 'cipher',
  status: 'current',
  drivers: { node: { supported, hardware: 'no' } },
});

const kernelEntry = (algorithm: string, kernelDriver: string): KernelEntry => ({
  algorithm,
  kernelDriver,
  module: 'aesni_intel',
  type: 'skcipher',
  priority: 400,
  chosen: true,
  internal: false,
  hardware: 'unknown',
  evidence: [`${kernelDriver} is not a name that hwcrypt knows`, 'it is asynchronous', long],
  names: [],
});

function widest(text: string): number {
  return Math.max(...text.split('\n').map((line) => line.length));
}

test('rows that no driver here offers are one line, unless all are asked for', () => {
  const entries = [
    entry('aes-128-cbc', true),
    ...Array.from({ length: 60 }, (_, i) => entry(`x${i}`, false)),
  ];
  const text = algorithmsText(entries, drivers, false);
  assert.match(text, /^aes-128-cbc +yes$/m);
  assert.match(text, /^60 more that no driver here offers \(--all\)$/m);
  assert.doesNotMatch(text, /^x\d/m);
  const all = algorithmsText(entries, drivers, true);
  assert.match(all, /^x59 +-$/m);
  assert.doesNotMatch(all, /--all/);
});

test('80 columns of a terminal, or 120 without one, are kept to', () => {
  const kernel = {
    release: '6.18.44-a-long-name-of-a-release',
    source: 'netlink' as const,
    implementations: [
      kernelEntry('cbc(aes)', 'cbc-aes-aesni'),
      kernelEntry('authenc(hmac(sha256),cbc(aes))', 'authenc(hmac(sha256),cbc(aes))'),
    ],
  };
  for (const width of [80, undefined]) {
    for (const text of [
      driversText(drivers, width),
      algorithmsText([entry('aes-128-cbc', true)], drivers, false, width),
      kernelText(kernel, false, width),
    ]) {
      assert.ok(widest(text) <= (width ?? 120), text);
    }
  }
  // The facts and the verdict are in one line where there is room, and the heading says what they are.
  assert.match(kernelText(kernel, false), /^cbc\(aes\) .* unknown: /m);
  assert.match(
    kernelText(kernel, false, 80),
    /^cbc\(aes\)\n {2}\*cbc-aes-aesni, priority 400, module aesni_intel\n {6}hardware: unknown: /m,
  );
});
