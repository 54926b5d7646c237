/** What a disk should have, by the texts of machines of all kinds. Figures are made, so that what should come out is known. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gatherFacts } from '#src/doctor/index.js';
import { contradictions, makePlan, PLAN_SCHEMA, rateOf } from '#src/planning/index.js';
import { planJsonText, planText } from '#src/report/plan.js';
import { conform } from '#src/schema.js';
import {
  bundle,
  counts,
  EIP93,
  ELAPSED,
  type Entry,
  GENERIC,
  procCrypto,
  speed,
  VIRTIO,
} from '../doctor/helpers.js';
import { commandsOf, cryptsetupBenchmark, lineText, planned, row } from './helpers.js';

const near = (actual: number | undefined, expected: number, share = 0.02): void =>
  assert.ok(
    actual !== undefined && Math.abs(actual - expected) <= share * expected,
    `${actual} is not near ${expected}`,
  );

/** A request of n bytes on a curve, in bytes a second. */
const on = (fixedNs: number, nsPerByte: number, bytes: number): number =>
  (bytes * 1e9) / (fixedNs + nsPerByte * bytes);

/** The engine costs 40 us and 18 ns a byte, software 1 us and 125 ns (XTS: 140). */
const ROUTER = bundle({
  kernel: 'Linux 6.6.30 mips',
  'cpuinfo /proc/cpuinfo': 'system type\t\t: Example SoC\ncpu model\t\t: MIPS 1004Kc V2.15\nprocessors: 4',
  memory: 'MemTotal:         248832 kB\nMemAvailable:     180224 kB',
  crypto: procCrypto(...EIP93, ...GENERIC),
  'speed-software openssl speed -elapsed -evp aes-128-cbc': `${ELAPSED}${speed('AES-128-CBC', counts(1000, 125))}`,
  'speed-devcrypto openssl speed -elapsed -evp aes-128-cbc -engine devcrypto': `engine "devcrypto" set.\n${ELAPSED}${speed('AES-128-CBC', counts(40_000, 18))}`,
  'benchmark cryptsetup benchmark': cryptsetupBenchmark(
    ['aes-xts', 256, 6.8, 6.7],
    ['aes-xts', 512, 5.2, 5.1],
  ),
  block: 'sda logical=512 physical=4096 rotational=1 sectors=1953525168',
});

/** JSON of hwcrypt's, of one run. */
const resultsOf = (label: string, measurements: readonly object[]): string =>
  JSON.stringify({
    format: 'hwcrypt-results',
    version: 1,
    tool: 'hwcrypt',
    source: 'router',
    machine: {},
    skipped: [],
    notes: [],
    runs: [{ label, kdfs: [], doubts: [], notes: [], measurements }],
  });

test('an engine that has CBC and no XTS: CBC by it, in large sectors, and what that means', () => {
  const plan = planned([ROUTER], { device: '/dev/sda1' });
  assert.equal(lineText(plan.recommended.row), 'aes-cbc-essiv:sha256 128 4096');
  const cbc = row(plan, 'aes-cbc-essiv:sha256', 128, 4096);
  assert.equal(cbc.kernelDriver, 'cbc(aes-eip93)');
  assert.equal(cbc.hardware, 'yes');
  // Between 1024 and 8192 bytes, which openssl speed measures; the line through them is the curve itself.
  near(cbc.write?.bytesPerSecond, on(40_000, 18, 4096));
  assert.equal(cbc.write?.certainty, 'between');
  near(row(plan, 'aes-cbc-essiv:sha256', 128, 512).write?.bytesPerSecond, on(40_000, 18, 512));
  // The kernel's XTS is software, and one size of it was measured.
  const xts = row(plan, 'aes-xts-plain64', 256, 4096);
  assert.equal(xts.kernelDriver, 'xts(aes-generic)');
  assert.equal(xts.read?.certainty, 'at-most');
  assert.ok(xts.read!.bytesPerSecond < 6.7 * 2 ** 20, 'without the tool’s own overstatement');
  assert.match(
    plan.verdict,
    /^Take aes-cbc-essiv:sha256 .*3[4-6]\.\d MB\/s by cbc\(aes-eip93\), against (?:reading )?at most 6\./,
  );
  assert.ok(plan.caveats.some(({ code }) => code === 'CBC_MALLEABLE'));
  // 4096 physical, from the disk of which it is a partition.
  assert.equal(plan.disk.physicalBytes, 4096);
  assert.ok(!plan.caveats.some(({ code }) => code === 'TORN_WRITE'));
  assert.deepEqual(commandsOf(plan, 'format'), [
    'cryptsetup luksFormat --type luks2 --cipher aes-cbc-essiv:sha256 --key-size 128 --sector-size 4096 --pbkdf argon2id --pbkdf-memory 61440 /dev/sda1',
  ]);
  assert.deepEqual(commandsOf(plan, 'tune'), [], 'queues are what an engine needs');
});

test('the same with cores that together are faster, or a gain that is small: XTS, and the other is told', () => {
  const faster = ROUTER.replace(
    /aes-xts +256b.*/,
    'aes-xts        256b        18.0 MiB/s        18.0 MiB/s',
  ).replace(/aes-xts +512b.*/, 'aes-xts        512b        16.0 MiB/s        16.0 MiB/s');
  const plan = planned([faster]);
  assert.equal(plan.recommended.row.mode, 'xts');
  assert.ok(plan.recommended.reasons.some((reason) => /^XTS, not CBC: .* on each of 4 cores/.test(reason)));
});

test('a text whose engine was never named as a driver is taken for the kernel’s first choice, and no further', () => {
  const pinned: Entry = { name: 'cbc(aes)', driver: 'cbc-aes-neonbs', priority: 9000 };
  const plan = planned([
    ROUTER.replace(procCrypto(...EIP93, ...GENERIC), procCrypto(pinned, ...EIP93, ...GENERIC)),
  ]);
  assert.equal(row(plan, 'aes-cbc-essiv:sha256', 128, 4096).kernelDriver, 'cbc-aes-neonbs');
  assert.equal(plan.recommended.row.mode, 'xts');
});

const PAIR = {
  without: cryptsetupBenchmark(['aes-cbc', 256, 9.1, 9.0], ['aes-xts', 256, 12.2, 11.9]),
  with: cryptsetupBenchmark(['aes-cbc', 256, 26.5, 25.8], ['aes-xts', 256, 20.3, 20.1]),
};
const CAAM: readonly Entry[] = [
  { name: 'cbc(aes)', driver: 'cbc-aes-caam', priority: 3000, async: true },
  { name: 'xts(aes)', driver: 'xts(ecb-aes-caam)', priority: 3000, async: true },
];
const LUKS_DUMP = `LUKS header information
Version:        2

Data segments:
  0: crypt
        offset: 16777216 [bytes]
        cipher: aes-cbc-essiv:sha256
        sector: 512 [bytes]

Keyslots:
  1: luks2
        Key:        256 bits
        PBKDF:      argon2i
        Memory:     11091
`;

test('figures with and without an engine: those that fit the kernel’s list, and a doubt', () => {
  const withEngine = planned([PAIR.with, PAIR.without, procCrypto(...CAAM, ...GENERIC)]);
  const without = planned([PAIR.without, PAIR.with, procCrypto(...GENERIC)]);
  const rate = (plan: typeof without): number =>
    row(plan, 'aes-cbc-essiv:sha256', 256, 4096).write!.bytesPerSecond;
  assert.ok(rate(withEngine) > 20e6 && rate(without) < 9.6e6);
  for (const plan of [withEngine, without]) {
    const { write } = row(plan, 'aes-cbc-essiv:sha256', 256, 4096);
    assert.equal(write?.sureness, 'possible');
    assert.match(write?.doubt ?? '', /another figure in the texts says/);
  }
  assert.equal(withEngine.recommended.row.partly, true, 'xts(ecb-aes-caam)');
  // Whom nobody names is not promised more than the slower.
  assert.ok(rate(planned([PAIR.with, PAIR.without])) < 9.6e6);
});

test('a volume that is there: its cipher stays where another is no faster; LUKS2 is re-encrypted, LUKS1 converted first', () => {
  const texts = [PAIR.with, procCrypto(...CAAM, ...GENERIC), LUKS_DUMP];
  const plan = planned(texts, { device: '/dev/mmcblk0p2' });
  assert.equal(lineText(plan.recommended.row), 'aes-cbc-essiv:sha256 256 4096');
  assert.equal(plan.current?.keyBits, 256);
  assert.match(plan.verdict, /^Re-encrypt it .* how much these figures do not tell/);
  assert.deepEqual(
    plan.steps.map(({ purpose }) => purpose),
    ['check', 'check', 'backup', 'check', 'reencrypt', 'open', 'verify'],
  );
  assert.deepEqual(commandsOf(plan, 'reencrypt'), [
    'cryptsetup reencrypt --cipher aes-cbc-essiv:sha256 --key-size 256 --sector-size 4096 --pbkdf argon2id /dev/mmcblk0p2',
  ]);
  assert.ok(commandsOf(plan, 'check').some((command) => command.includes('/sys/block/mmcblk0/')));
  assert.ok(plan.caveats.some(({ code }) => code === 'FILE_SYSTEM_BLOCKS'));
  const old = planned([
    PAIR.with,
    procCrypto(...CAAM, ...GENERIC),
    LUKS_DUMP.replace('Version:        2', 'Version:        1'),
  ]);
  assert.deepEqual(commandsOf(old, 'convert')[0], 'cryptsetup convert /dev/DEVICE --type luks2');
  const torn = planned(texts, { disk: { physicalBytes: 512 } });
  assert.match(commandsOf(torn, 'reencrypt')[0]!, / --resilience journal /);
});

test('bounds on both sides: a gain is possible and to be measured first, and what cannot be told is never called not worth it', () => {
  const dump = LUKS_DUMP.replaceAll('aes-cbc-essiv:sha256', 'aes-xts-plain64');
  assert.notEqual(dump, LUKS_DUMP);
  const bounds = cryptsetupBenchmark(
    ['aes-cbc', 128, 40, 41],
    ['aes-xts', 256, 7.9, 8],
    ['aes-xts', 512, 6.9, 7],
  );
  const engine = procCrypto(...EIP93, ...GENERIC);
  for (const [text, conversion] of [
    [dump, []],
    [dump.replace('Version:        2', 'Version:        1'), ['cryptsetup convert /dev/DEVICE --type luks2']],
  ] as const) {
    const plan = planned([bounds, engine, text]);
    assert.equal(plan.reencrypt, 'possible');
    assert.match(
      plan.verdict,
      /^Re-encrypt it with aes-cbc-essiv:sha256 .* possibly [4-6]\.\d times as fast/,
    );
    assert.deepEqual(commandsOf(plan, 'convert').slice(0, 1), conversion);
    assert.match(commandsOf(plan, 'reencrypt')[0] ?? '', /--sector-size 4096/);
    assert.ok(
      commandsOf(plan, 'check').some((command) => /^hwcrypt benchmark --disk -c aes-xts/.test(command)),
    );
    conform(PLAN_SCHEMA, JSON.parse(planJsonText(plan)), 'the plan');
  }
  // The same bound for large sectors and small, by whom nobody says.
  const same = planned([cryptsetupBenchmark(['aes-xts', 256, 8, 8], ['aes-xts', 512, 7.9, 7.9]), dump]);
  assert.equal(same.reencrypt, 'unknown');
  assert.match(same.verdict, /^Leave it as it is until it was measured/);
  assert.doesNotMatch(planText(same), /not worth/);
  assert.equal(same.recommended.row, same.current?.row, 'the mark is where it stays');
  assert.deepEqual(commandsOf(same, 'reencrypt'), []);
  // Software's requests cost next to nothing: the bounds are near.
  const software = planned([
    cryptsetupBenchmark(['aes-xts', 256, 8, 8], ['aes-xts', 512, 7.9, 7.9]),
    procCrypto(...GENERIC),
    dump,
  ]);
  assert.equal(software.reencrypt, 'no');
  assert.match(software.verdict, /^Leave it as it is: .* not worth/);
});

test('IVs that can be foretold are a reason by themselves', () => {
  const plan = planned([
    PAIR.without,
    procCrypto(...GENERIC),
    '0 8192 crypt aes-cbc-plain64 :32:logon:x 0 8:1 4096',
  ]);
  assert.match(plan.verdict, /^Re-encrypt it .*aes-cbc-plain64 gives away/);
  assert.equal(plan.recommended.row.mode, 'xts');
  assert.ok(!plan.rows.some(({ cipher }) => /plain64/.test(cipher) && /cbc/.test(cipher)), 'never offered');
});

const AESNI: readonly Entry[] = ['cbc', 'xts'].map((mode) => ({
  name: `${mode}(aes)`,
  driver: `${mode}-aes-aesni`,
  module: 'aesni_intel',
  priority: 401,
}));
const PC = bundle({
  kernel: 'Linux 6.12.1 x86_64',
  'cpuinfo /proc/cpuinfo': 'model name : Example CPU\nflags : fpu sse2 aes avx\nprocessors: 8',
  memory: 'MemTotal:       16384000 kB',
  crypto: procCrypto(...AESNI, ...GENERIC),
  'benchmark cryptsetup benchmark': cryptsetupBenchmark(
    ['aes-xts', 256, 3100, 3050],
    ['aes-xts', 512, 2600, 2580],
    ['aes-cbc', 128, 1100, 3600],
  ),
});

test('a CPU with instructions: XTS with 512 bits in 4096-byte sectors, no engine, queues off, no limit of memory', () => {
  const plan = planned([PC]);
  assert.equal(lineText(plan.recommended.row), 'aes-xts-plain64 512 4096');
  assert.match(plan.verdict, /you need no engine$/);
  assert.deepEqual(commandsOf(plan, 'tune'), [
    'cryptsetup refresh --persistent --perf-no_read_workqueue --perf-no_write_workqueue NAME',
  ]);
  assert.deepEqual(commandsOf(plan, 'format'), [
    'cryptsetup luksFormat --type luks2 --cipher aes-xts-plain64 --key-size 512 --sector-size 4096 --pbkdf argon2id /dev/DEVICE',
  ]);
  // Nothing is gained by what may tear.
  const small = planned([PC], { disk: { physicalBytes: 512, logicalBytes: 512 } });
  assert.equal(small.recommended.row.sectorBytes, 512);
  // 4Kn takes no others.
  assert.equal(
    planned([PC], { disk: { physicalBytes: 4096, logicalBytes: 4096 } }).recommended.row.sectorBytes,
    4096,
  );
});

test('kernels without large sectors, without the flags of queues, and with portable C', () => {
  const at = (release: string): string => PC.replace('6.12.1', release);
  assert.equal(planned([at('4.9.0')]).recommended.row.sectorBytes, 512);
  assert.deepEqual(commandsOf(planned([at('5.4.0')]), 'tune'), []);
  const portable = planned([PC.replace(procCrypto(...AESNI, ...GENERIC), procCrypto(...GENERIC))]);
  assert.ok(portable.notes.some((note) => /portable C, though the CPU has instructions/.test(note)));
  assert.doesNotMatch(portable.verdict, /you need no engine/);
});

test('a slow CPU with nothing: XTS with the shorter key, and Adiantum where it was measured, or a word that it was not', () => {
  const slow = cryptsetupBenchmark(['aes-xts', 256, 14, 14], ['aes-xts', 512, 10, 10]);
  const plan = planned([slow]);
  assert.equal(lineText(plan.recommended.row), 'aes-xts-plain64 256 4096');
  assert.ok(plan.caveats.some(({ code }) => code === 'ADIANTUM_NOT_MEASURED'));
  const measured = planned([slow, cryptsetupBenchmark(['xchacha12,aes-adiantum', 256, 61, 61])]);
  assert.equal(lineText(measured.recommended.row), 'xchacha12,aes-adiantum-plain64 256 4096');
  assert.match(
    measured.caveats.find(({ code }) => code === 'TORN_WRITE')?.text ?? '',
    /rubbish from one end/,
  );
});

test('an engine that dm-crypt refuses is not what a disk gets', () => {
  const plan = planned([
    'Linux version 6.1.0 (x)',
    procCrypto({ ...VIRTIO, priority: 5000 }, ...GENERIC),
    cryptsetupBenchmark(['aes-cbc', 128, 300, 300], ['aes-xts', 256, 20, 20]),
  ]);
  const cbc = row(plan, 'aes-cbc-essiv:sha256', 128, 4096);
  assert.equal(cbc.kernelDriver, 'cbc(aes-generic)');
  assert.equal(cbc.write, undefined, 'cryptsetup measured the engine');
  assert.ok(plan.notes.some((note) => /^virtio_crypto_aes_cbc .* dm-crypt refuses/.test(note)));
  assert.equal(plan.recommended.row.mode, 'xts');
});

test('from Linux 7.2 on cryptsetup benchmark does not reach the engine that a disk gets', () => {
  const benchmark = cryptsetupBenchmark(['aes-cbc', 128, 8, 8], ['aes-xts', 256, 7, 7]);
  const list = procCrypto(...EIP93, ...GENERIC);
  assert.equal(
    row(planned(['Linux version 7.2.0 (x)', list, benchmark]), 'aes-cbc-essiv:sha256', 128, 4096).write,
    undefined,
  );
  near(
    row(planned(['Linux version 7.1.0 (x)', list, benchmark]), 'aes-cbc-essiv:sha256', 128, 4096).write
      ?.bytesPerSecond,
    8 * 2 ** 20,
    0.15,
  );
});

test('sizes and file systems that allow no large sectors', () => {
  const at = (bytes: number): number =>
    planned([PC], { disk: { bytes, physicalBytes: 4096 } }).recommended.row.sectorBytes;
  assert.deepEqual([2 ** 30, 2 ** 30 + 2048, 2 ** 30 + 1024, 2 ** 30 + 512].map(at), [4096, 2048, 1024, 512]);
  const odd = planned([PC], { disk: { bytes: 20_971_520 + 512 } });
  assert.ok(
    odd.recommended.reasons.some((reason) =>
      /512 more than a multiple of 4096; with 20971520 bytes/.test(reason),
    ),
  );
  const plain = (fileSystem: object): number =>
    planned([PC], {
      current: {
        kind: 'plain',
        from: 'disk.img',
        others: 0,
        dataBytes: 2 ** 28,
        fileSystem: fileSystem as never,
      },
    }).recommended.row.sectorBytes;
  assert.equal(plain({ type: 'ext', blockBytes: 1024 }), 1024);
  assert.equal(plain({ type: 'xfs', blockBytes: 4096, sectorBytes: 512 }), 512);
  assert.equal(plain({ type: 'ext', blockBytes: 65_536 }), 4096);
});

test('memory for Argon2 is a quarter of the machine’s, in steps of 4 MiB; four CPUs are cryptsetup’s own most', () => {
  const options = (memory: number, cpus: number): string =>
    commandsOf(
      planned([PC.replace('16384000', String(memory)).replace('processors: 8', `processors: ${cpus}`)]),
      'format',
    )[0]!.replace(/.*argon2id ?(.*)\/dev.*/, '$1');
  assert.equal(options(59_000, 1), '--pbkdf-memory 12288 --pbkdf-parallel 1 ');
  assert.equal(options(124_000, 2), '--pbkdf-memory 28672 --pbkdf-parallel 2 ');
  assert.equal(options(250_000, 4), '--pbkdf-memory 61440 ');
  assert.equal(options(8_000_000, 4), '');
});

test('nothing measured: what is safe everywhere, said so, and no figure made up', () => {
  const plan = planned([procCrypto(...EIP93, ...GENERIC)]);
  assert.equal(plan.recommended.byFigures, false);
  assert.equal(lineText(plan.recommended.row), 'aes-xts-plain64 512 4096');
  assert.match(plan.verdict, /^Nothing here says how fast/);
  assert.ok(plan.rows.every((one) => rateOf(one) === undefined));
  assert.equal(plan.gain, undefined);
});

test('figures of dm-crypt itself count more than any other', () => {
  const measured = (sectorBytes: number, rate: number, operation: string): object => ({
    algorithm: 'aes-128-cbc',
    algorithmText: 'aes-cbc-essiv:sha256',
    keyBits: 128,
    operation,
    driver: 'dm-crypt',
    kernelDriver: 'essiv(cbc(aes-eip93),sha256-generic)',
    requestBytes: sectorBytes,
    bytesPerSecond: rate,
    basis: 'elapsed',
    status: 'ok',
    estimated: false,
    doubts: [],
  });
  const set = resultsOf('dm-crypt over memory', [
    measured(4096, 31e6, 'encrypt'),
    measured(512, 9e6, 'encrypt'),
  ]);
  const plan = planned([ROUTER, set]);
  const { write } = row(plan, 'aes-cbc-essiv:sha256', 128, 4096);
  assert.equal(write?.bytesPerSecond, 31e6);
  assert.equal(write?.sureness, 'certain');
});

test('system calls are no part of what a disk does: taken out of software’s curve, and of an engine’s by the same way', () => {
  const measured = (algorithm: string, kernelDriver: string, fixedNs: number, nsPerByte: number): object[] =>
    [16, 1024, 8192, 65_536].map((requestBytes) => ({
      algorithm,
      algorithmText: algorithm,
      operation: 'encrypt',
      driver: 'afalg',
      kernelDriver,
      requestBytes,
      bytesPerSecond: on(fixedNs, nsPerByte, requestBytes),
      basis: 'elapsed',
      status: 'ok',
      estimated: false,
      doubts: [],
    }));
  const set = (measurements: object[]): string => resultsOf('afalg', measurements);
  const list = procCrypto(...EIP93, ...GENERIC);
  const engine = measured('aes-256-cbc', 'cbc(aes-eip93)', 130_000, 18);
  const both = planned([list, set([...engine, ...measured('aes-256-xts', 'xts(aes-generic)', 90_000, 140)])]);
  for (const bytes of [512, 4096]) {
    near(row(both, 'aes-xts-plain64', 512, bytes).write?.bytesPerSecond, 1e9 / 140);
    near(row(both, 'aes-cbc-essiv:sha256', 256, bytes).write?.bytesPerSecond, on(40_000, 18, bytes));
  }
  const alone = planned([list, set(engine)]);
  near(row(alone, 'aes-cbc-essiv:sha256', 256, 4096).write?.bytesPerSecond, on(130_000, 18, 4096));
});

test('noise, halves of texts and nothing at all give a plan without figures, or with those that are whole', () => {
  for (const text of [
    '',
    '\u0000\u0001',
    'aes-xts',
    '}{',
    PC.slice(0, 200),
    'aes-xts 256b 0.0 MiB/s 0.0 MiB/s',
  ])
    assert.equal(planned([text]).recommended.byFigures, false, text);
  for (let at = 0; at < ROUTER.length; at += 37) {
    const plan = planned([ROUTER.slice(0, at)]);
    conform(PLAN_SCHEMA, JSON.parse(planJsonText(plan)), 'the plan');
    for (const one of plan.rows) {
      const rate = rateOf(one);
      assert.ok(rate === undefined || (Number.isFinite(rate) && rate > 0 && rate < 1e9), `${at}: ${rate}`);
    }
    assert.ok(planText(plan).length > 500);
  }
});

test('a device’s name is pasted into a shell and stays one word', () => {
  const plan = planned([PC], { device: "/dev/it's; reboot" });
  for (const command of [...commandsOf(plan, 'format'), ...commandsOf(plan, 'open')])
    assert.ok(command.includes("'/dev/it'\\''s; reboot'"), command);
  assert.ok(commandsOf(planned([PC], { device: '-x' }), 'format')[0]!.endsWith(' ./-x'));
});

test('read and write of a line come from one text, and texts of two machines are told', () => {
  const texts = [
    ['slow', `Linux version 5.15.1 (x)\n${cryptsetupBenchmark(['aes-xts', 256, 20, 9])}`],
    ['fast', `Linux version 6.6.1 (x)\n${cryptsetupBenchmark(['aes-xts', 256, 18, 90])}`],
  ] as const;
  const facts = gatherFacts(texts.map(([name, text]) => ({ name, text })));
  const { read, write } = row(makePlan({ facts, here: false }), 'aes-xts-plain64', 256, 4096);
  assert.equal(read?.quote.source, 'slow');
  assert.equal(write?.quote.source, 'slow');
  assert.match(read?.quote.text ?? '', /9\.0 MiB\/s as printed, .* corrected/);
  const notes = contradictions(texts.map(([name, text]) => ({ name, facts: gatherFacts([{ name, text }]) })));
  assert.ok(notes.some((note) => /differ in its kernel: 5\.15\.1 \(slow\), 6\.6\.1 \(fast\)/.test(note)));
  assert.ok(
    notes.some((note) => /^the benchmarks contradict each other.* \(slow\) and .* \(fast\)/.test(note)),
  );
  const [, text] = texts[0];
  const twice = ['a', 'b'].map((name) => ({ name, facts: gatherFacts([{ name, text }]) }));
  assert.deepEqual(contradictions(twice), []);
});
