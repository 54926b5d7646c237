/** What is read of `openssl speed`, in the forms that its versions print. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importResults } from '#src/interop/index.js';
import { claims, codes, fixture, only, rates, SIZES, setOf } from './fixtures.js';

/** The figures of the fixtures that are one run in many forms. */
const FIGURES = [982378.06, 1239585.54, 1287466.24, 1282021.38, 1308450.82, 1306738.69];

const HEADER = 'type             16 bytes     64 bytes    256 bytes   1024 bytes   8192 bytes  16384 bytes\n';
const ROW = 'aes-128-cbc      30229.13k    40065.07k    43963.48k    45118.46k    45378.22k    45416.45k\n';
const OTHER = 'aes-128-cbc       1229.13k     4065.07k    13963.48k    35118.46k    65378.22k    75416.45k\n';

function runs(text: string) {
  return only(importResults(text).sets).runs;
}

test('one run in many forms gives the same six figures', () => {
  for (const name of [
    'openssl-crlf.txt',
    'openssl-bom-crlf.txt',
    'openssl-elided.txt',
    'openssl-nbsp-quotes.txt',
    'openssl-wrapped60.txt',
    'openssl-mail-quoted.txt',
  ]) {
    const set = setOf(name);
    const run = only(set.runs);
    assert.deepEqual(claims(run), FIGURES, name);
    assert.deepEqual(rates(run), FIGURES, name);
    assert.deepEqual(
      run.measurements.map(({ requestBytes }) => requestBytes),
      SIZES,
      name,
    );
    assert.ok(
      run.measurements.every(({ algorithm, basis }) => algorithm === 'aes-128-cbc' && basis === 'elapsed'),
    );
    assert.deepEqual(set.skipped, [], name);
  }
});

test('an elision is counted, and what it hid is said', () => {
  const { sets, unread } = importResults(fixture('openssl-elided.txt'));
  assert.deepEqual(
    unread.map(({ line, text }) => [line, text]),
    [[4, 'bala...bala']],
  );
  assert.match(only(only(sets).runs).notes[0]!, /for 256, 1024, 8192, 16384 bytes are missing/);
});

test('two runs in one log stay two', () => {
  const [first, second] = setOf('openssl-nohup-two-runs.txt').runs;
  assert.deepEqual(claims(first!), FIGURES);
  assert.deepEqual(claims(second!), FIGURES);
  assert.equal(second!.measurements[0]!.algorithm, 'aes-256-cbc');
  assert.equal(second!.toolVersion, '3.0.19');
});

test('user time: the claim stands beside the estimate', () => {
  const run = only(setOf('openssl-user-time.txt').runs);
  const [first, , , , , last] = run.measurements;
  assert.equal(first!.requests, 331_636);
  assert.equal(first!.claimedBytesPerSecond, (331_636 * 16) / 0.13);
  assert.equal(first!.bytesPerSecond, (331_636 * 16) / 3);
  assert.deepEqual([first!.elapsedNs, first!.userNs], [3e9, 13e7]);
  assert.equal(first!.basis, 'cpu');
  assert.ok(first!.estimated);
  assert.ok(codes(first!).includes('CPU_TIME_DIVISOR'));
  // 0.00 s: the tool prints `infk`, which is no number, and not zero.
  assert.equal(last!.claimedBytesPerSecond, null);
  assert.equal(last!.bytesPerSecond, (2764 * 16_384) / 3);
  assert.deepEqual(run.engine, { requested: 'devcrypto', loaded: 'yes' });
});

test('a page of notes: two runs of one algorithm, then a table with remarks', () => {
  const { sets, unread } = importResults(fixture('openssl-notes-page.txt'));
  const [software, engine, table] = only(sets).runs;
  assert.match(software!.label, /^Run without the module/);
  assert.match(engine!.label, /^Run with the module/);
  assert.ok(!codes(software!).includes('CPU_TIME_DIVISOR'));
  assert.ok(codes(engine!).includes('CPU_TIME_DIVISOR'));
  // The engine is used, and a loss at every size.
  for (const [index, { bytesPerSecond }] of engine!.measurements.entries()) {
    assert.ok(bytesPerSecond! < software!.measurements[index]!.bytesPerSecond!);
  }
  const names = [...new Set(table!.measurements.map(({ algorithm }) => algorithm))];
  assert.equal(names.length, 10);
  assert.equal(names.at(-1), 'chacha20-poly1305');
  assert.equal(table!.measurements.length, 60);
  assert.ok(
    table!.measurements.every(({ basis, operation }) => basis === 'elapsed' && operation === 'encrypt'),
  );
  assert.deepEqual(
    unread.map(({ text }) => text),
    ['128-cbc chacha chacha chacha chacha chacha'],
  );
});

test('cut off before the table: figures from counts, and it says so', () => {
  for (const [name, engine] of [
    ['openssl-truncated-software.txt', undefined],
    ['openssl-truncated-afalg.txt', 'afalg'],
  ] as const) {
    const run = only(setOf(name).runs);
    assert.equal(run.engine?.requested, engine);
    assert.deepEqual(codes(run), ['TRUNCATED', 'FROM_COUNTS']);
    assert.equal(run.measurements.length, 6);
    const { requests, requestBytes, bytesPerSecond, basis } = run.measurements[4]!;
    assert.equal(bytesPerSecond, (requests! * requestBytes!) / 3);
    assert.equal(basis, 'elapsed');
    assert.equal(run.machine?.architecture, 'arm');
  }
  // No -elapsed: 2.96 s is jitter of user time, and the nominal three seconds passed.
  const jitter = only(setOf('openssl-1.0.2-no-table.txt').runs);
  assert.equal(jitter.measurements.length, 5);
  assert.equal(jitter.measurements[4]!.basis, 'cpu');
  assert.ok(!jitter.measurements.some((measurement) => codes(measurement).includes('CPU_TIME_DIVISOR')));
});

test('an engine that was not loaded has no figures', () => {
  const collapsed = only(setOf('openssl-collapsed-time.txt').runs);
  assert.equal(collapsed.engine?.loaded, 'no');
  assert.ok(codes(collapsed).includes('ENGINE_NOT_LOADED'));
  assert.ok(
    collapsed.measurements.every(({ engine, driver }) => engine === undefined && driver === undefined),
  );
  assert.deepEqual(collapsed.processTimes, {
    userNs: 17.42e9,
    systemNs: 1e7,
    cpuPercent: 99,
    elapsedNs: 18.05e9,
  });

  const invalid = only(setOf('openssl-3.0-invalid-engine.txt').runs);
  assert.equal(invalid.engine?.requested, 'afalg');
  assert.match(invalid.engine!.reason!, /self-check failed.*AF_ALG/);
  assert.deepEqual(claims(invalid), [1019839.78, 1178891.01, 1230617.6, 1233363.97, 1151442.94, 1205485.57]);

  const errors = only(setOf('openssl-3.0-engine-errors.txt').runs);
  assert.deepEqual(
    [errors.engine?.requested, errors.engine?.loaded, errors.measurements.length],
    ['afalg', 'no', 0],
  );

  const absent =
    'Invalid engine "devcrypto"\n40:error:12800067:DSO support routines:dlfcn_load:could not load the shared library:x.c:1:filename(libdevcrypto.so): no\n';
  assert.match(only(runs(absent + ROW)).engine!.reason!, /not installed/);
  const four = `$ openssl speed -elapsed -engine devcrypto -evp aes-128-cbc\nversion: 4.0.0\n${HEADER}${ROW}`;
  assert.equal(only(runs(four)).engine?.loaded, 'no');
});

test('rows named evp get their name, processes and engine from the command above', () => {
  const all = setOf('openssl-evp-rows.txt').runs;
  assert.deepEqual(
    all.map(({ processes, engine }) => [processes, engine?.requested, engine?.loaded]),
    [
      [1, undefined, undefined],
      [4, undefined, undefined],
      [1, 'devcrypto', 'unconfirmed'],
      [2, 'devcrypto', 'unconfirmed'],
    ],
  );
  for (const run of all) {
    assert.equal(run.measurements.length, 6);
    assert.ok(
      run.measurements.every(({ algorithm, basis }) => algorithm === 'aes-256-cbc' && basis === 'elapsed'),
    );
    assert.ok(run.measurements.every((measurement) => codes(measurement).includes('SIZES_ASSUMED')));
  }
  // Without a command line nothing names it.
  const bare = only(runs('evp 1.00k 2.00k 3.00k 4.00k 5.00k\n'));
  assert.equal(bare.measurements[0]!.algorithm, undefined);
  assert.deepEqual(codes(bare.measurements[0]!), ['SIZES_ASSUMED', 'ALGORITHM_UNKNOWN']);
});

test('-mr, of 1.0.2 and 3.0, one and several algorithms, AEAD', () => {
  const old = only(setOf('openssl-1.0.2-mr.txt').runs);
  assert.equal(old.measurements.length, 5);
  assert.equal(old.measurements[0]!.requests, Math.round(135_704_772 * 0.61));
  assert.ok(
    old.measurements.every((measurement) => codes(measurement).length === 0 && measurement.basis === 'cpu'),
  );

  const one = only(setOf('openssl-3.0-mr.txt').runs);
  assert.deepEqual(
    one.measurements.map(({ claimedBytesPerSecond }) => claimedBytesPerSecond),
    [771779216, 881521984, 884098304, 897587200, 858202112, 806699008],
  );
  const two = only(setOf('openssl-3.0-mr-two.txt').runs);
  assert.deepEqual(
    [...new Set(two.measurements.map(({ algorithm }) => algorithm))],
    ['sha256', 'aes-128-cbc'],
  );
  assert.equal(two.measurements[0]!.operation, 'digest');
  // 0.98 of one second: CPU time, as the divisor of the figure that is printed; the estimate is by the second.
  assert.equal(two.measurements[0]!.claimedBytesPerSecond, 111463657.14);
  assert.equal(two.measurements[0]!.bytesPerSecond, 6827149 * 16);
  const aead = only(setOf('openssl-3.0-mr-aead.txt').runs);
  assert.deepEqual(
    aead.measurements.map(({ requestBytes }) => requestBytes),
    [2, 31, 136, 1024, 8192, 16384],
  );
});

test('-mr: other kinds of lines, missing ones, broken ones', () => {
  const text =
    '+DTP:2048:private:rsa:10\n+R1:100:2048:10.00\n+DT:aes-128-cbc:3:16\n+R:300:aes-128-cbc:3.000000\n+R:300:aes-256-cbc:3.000000\n+F2:2:2048:0.1:0.2\n+F:22:aes-1';
  const set = only(importResults(text).sets);
  assert.match(set.notes[0]!, /3 lines of public-key results/);
  assert.deepEqual(
    set.skipped.map(({ line }) => line),
    [5, 7],
  );
  assert.deepEqual(rates(only(set.runs)), [1.6]);
});

test('-multi: children are summed, and their clock is the one on the wall', () => {
  const child = (n: number, rate: string): string =>
    `Got: +H:16:64 from ${n}\nGot: +F:22:aes-256-cbc:${rate} from ${n}\n`;
  const counts = [16, 64].map(
    (size) =>
      `+DT:aes-256-cbc:3:${size}\n+DT:aes-256-cbc:3:${size}\n+R:1000:aes-256-cbc:3.000000\n+R:2000:aes-256-cbc:3.010000\n`,
  );
  const start = '$ openssl speed -evp aes-256-cbc -multi 2\nForked child 0\nForked child 1\n';
  const text = start + counts.join('') + child(0, '5333.33:21333.33') + child(1, '10631.23:42524.92');
  for (const end of [
    'evp              15964.56     63858.25 \n',
    '+F:22:aes-256-cbc:15964.56:63858.25\n',
    '',
  ]) {
    const run = only(runs(text + end));
    assert.equal(run.processes, 2);
    assert.deepEqual(
      run.measurements.map(({ algorithm, requestBytes, requests, parallel, basis }) => [
        algorithm,
        requestBytes,
        requests,
        parallel,
        basis,
      ]),
      [
        ['aes-256-cbc', 16, 3000, 2, 'elapsed'],
        ['aes-256-cbc', 64, 3000, 2, 'elapsed'],
      ],
      end,
    );
    assert.equal(run.measurements[0]!.claimedBytesPerSecond, 15964.56, end);
  }
});

test('-async_jobs: requests in flight are no processes', () => {
  const run = only(
    runs(
      `$ openssl speed -elapsed -engine qatengine -async_jobs 36 -evp aes-128-cbc\nengine "qatengine" set.\n${HEADER}${ROW}`,
    ),
  );
  assert.deepEqual(
    [run.processes, run.measurements[0]!.parallel, run.measurements[0]!.engine],
    [undefined, 36, 'qatengine'],
  );
});

test('-bytes: one column, also of one algorithm without a header', () => {
  const [row] = only(runs('type           1024 bytes\nAES-128-CBC    1123286.28k\n')).measurements;
  assert.deepEqual([row!.requestBytes, row!.claimedBytesPerSecond], [1024, 1123286280]);
  const [bare] = only(
    runs('$ openssl speed -bytes 4096 -evp aes-128-cbc\nAES-128-CBC    1123286.28k\n'),
  ).measurements;
  assert.equal(bare!.requestBytes, 4096);
  const [unknown] = only(runs('AES-128-CBC    1123286.28k\n')).measurements;
  assert.equal(unknown!.requestBytes, undefined);
  assert.ok(codes(unknown!).includes('SIZE_UNKNOWN'));
});

test('low-level rows of 1.0 and 1.1, and everything without -evp, are not behind an engine', () => {
  const set = setOf('openssl-missing-k.txt');
  const run = only(set.runs);
  assert.deepEqual(
    [...new Set(run.measurements.map(({ algorithm }) => algorithm))],
    ['md5', 'des-ede3-cbc', 'aes-192-cbc', 'aes-256-cbc', 'sha256', 'sha512'],
  );
  assert.ok(run.measurements.every((measurement) => codes(measurement).includes('NOT_EVP')));
  // The last value lost its k, as the row shows.
  const last = run.measurements.at(-1)!;
  assert.ok(codes(last).includes('UNIT_ASSUMED'));
  assert.ok(last.bytesPerSecond! > 1e8);

  // -evp takes one name; 1.1 measures the other one without it, and spells it with a blank.
  const mixed = only(
    runs(
      `$ openssl speed -elapsed -engine devcrypto -evp aes-128-cbc aes-256-cbc\nengine "devcrypto" set.\n${HEADER}${ROW}${ROW.replace('aes-128-cbc', 'aes-256 cbc')}`,
    ),
  );
  assert.deepEqual(
    [mixed.measurements[0]!, mixed.measurements[6]!].map((measurement) => [
      measurement.engine,
      codes(measurement),
    ]),
    [
      ['devcrypto', []],
      [undefined, ['NOT_EVP']],
    ],
  );
  const three = only(runs(`version: 3.0.2\n${HEADER}${ROW}${ROW.replace('aes-128-cbc', 'AES-128-CTR')}`));
  assert.deepEqual(codes(three.measurements[0]!), ['NOT_EVP']);
  assert.deepEqual(codes(three.measurements[6]!), []);
});

test('no -elapsed, an engine, and no counts: there is no true figure', () => {
  const run = only(
    runs(`$ openssl speed -evp aes-128-cbc -engine devcrypto\nengine "devcrypto" set.\n${HEADER}${ROW}`),
  );
  assert.ok(codes(run).includes('CPU_TIME_NO_COUNTS'));
  assert.ok(
    run.measurements.every(
      ({ bytesPerSecond, claimedBytesPerSecond }) =>
        bytesPerSecond === undefined && claimedBytesPerSecond! > 0,
    ),
  );
  const software = only(runs(`$ openssl speed -evp aes-128-cbc\n${HEADER}${ROW}`));
  assert.deepEqual(codes(software), ['CPU_TIME_DIVISOR']);
  assert.equal(software.measurements[0]!.bytesPerSecond, 30229130);
  assert.deepEqual(codes(only(runs(HEADER + ROW))), ['BASIS_UNKNOWN', 'OPERATION_UNKNOWN']);
});

test('0.00 is a failed step, a figure without k is in bytes', () => {
  const run = only(
    runs(
      `${HEADER}aes-256-gcm          0.00      5021.33        12.35k       45.00k      120.00k         infk\n`,
    ),
  );
  assert.deepEqual(
    run.measurements.map(({ status, bytesPerSecond, claimedBytesPerSecond }) => [
      status,
      bytesPerSecond,
      claimedBytesPerSecond,
    ]),
    [
      ['failed', undefined, 0],
      ['ok', 5021.33, 5021.33],
      ['ok', 12350, 12350],
      ['ok', 45e3, 45e3],
      ['ok', 120e3, 120e3],
      ['ok', undefined, null],
    ],
  );
  const none = only(runs("Doing aes-128-cbc for 3s on 16 size blocks: 0 aes-128-cbc's in 3.00s\n"));
  assert.equal(none.measurements[0]!.status, 'failed');
});

test('the divisor can only be CPU time where it is shorter than the alarm, whatever the text says', () => {
  const lines = (seconds: string): string =>
    `Doing aes-128-cbc for 3s on 16 size blocks: 300 aes-128-cbc's in ${seconds}s\n`;
  const basis = (text: string): string => only(only(runs(text)).measurements).basis;
  assert.equal(basis(lines('2.98')), 'cpu');
  assert.equal(basis(lines('3.00')), 'unknown');
  assert.equal(
    basis(`You have chosen to measure elapsed time instead of user CPU time.\n${lines('3.01')}`),
    'elapsed',
  );
  assert.equal(
    basis(`You have chosen to measure elapsed time instead of user CPU time.\n${lines('0.01')}`),
    'cpu',
  );
});

test('runs are told apart by commands, headings, quoting and repetition', () => {
  const labels = (text: string): string[] => runs(text).map(({ label }) => label);
  assert.deepEqual(labels(`### without\n${HEADER}${ROW}\n### with\n${HEADER}${OTHER}`), ['without', 'with']);
  assert.deepEqual(labels(`With it:\n${ROW}Without it:\n${OTHER}`), ['With it', 'Without it']);
  assert.deepEqual(
    labels(`$ openssl speed -evp aes-128-cbc\n${ROW}# openssl speed -elapsed -evp aes-128-cbc\n${OTHER}`),
    ['openssl speed -evp aes-128-cbc', 'openssl speed -elapsed -evp aes-128-cbc'],
  );
  assert.equal(runs(`> ${HEADER}> ${ROW}mine:\n${HEADER}${OTHER}`).length, 2);
  const [repeated] = runs(HEADER + ROW + OTHER);
  assert.deepEqual(
    repeated!.measurements.map(({ repetition }) => repetition),
    [1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2],
  );
  assert.ok(codes(repeated!.measurements[0]!).includes('REPEATED_ROW'));
});

test('words before a name are a label, not a name', () => {
  for (const name of ['openssl-labels-collapsed.txt', 'openssl-labels-pipes.txt']) {
    const set = setOf(name);
    assert.deepEqual(
      set.runs.map(({ label, measurements }) => [label, measurements.length]),
      [
        ['SW', 15],
        ['AF', 15],
      ],
    );
    assert.ok(set.runs.every((run) => run.measurements.every(({ algorithm }) => algorithm !== undefined)));
  }
});

test('values without a name are what the command measured, or are not read', () => {
  const values = ROW.replace('aes-128-cbc', '');
  const run = only(runs(`$ openssl speed -elapsed -evp aes-128-ctr\n${HEADER}${values}`));
  assert.equal(run.measurements[0]!.algorithm, 'aes-128-ctr');
  const set = only(importResults(HEADER + values).sets);
  assert.match(only(set.skipped).reason, /without the name/);
});

test('counts and table in two pieces, whichever comes first', () => {
  const whole = fixture('openssl-crlf.txt').toString('utf8').replaceAll('\r', '').trimEnd().split('\n');
  const [counts, table] = [whole.slice(0, 7).join('\n'), whole.slice(7).join('\n')];
  for (const text of [`${counts}\n${table}\n`, `${table}\n${counts}\n`]) {
    const run = only(runs(text));
    assert.deepEqual(claims(run), FIGURES);
    assert.equal(run.measurements[0]!.requests, 61398629);
  }
  // Other counts belong to another run.
  const other = counts.replaceAll(/: \d+ AES/g, ': 12345 AES');
  assert.equal(runs(`${table}\n${other}\n`).length, 2);
  // Counts that belong here, and a table that says otherwise.
  const [wrong] = runs(`${counts}\n${table.replace('1306738.69k', '1906738.69k')}\n`);
  assert.ok(codes(wrong!.measurements[5]!).includes('CLAIM_MISMATCH'));
});

test('a message in the middle of a step, and public keys', () => {
  const text = `Doing aes-128-cbc for 3s on 16 size blocks: [  123.456789] cryptodev: closed
276231 aes-128-cbc's in 3.00s
Doing 2048 bits private rsa's for 10s: 1000 2048 bits private RSA's in 10.00s
                  sign    verify    sign/s verify/s
rsa 2048 bits 0.000527s 0.000015s   1896.0  65432.1
`;
  const set = only(importResults(text).sets);
  assert.equal(only(only(set.runs).measurements).requests, 276231);
  assert.match(set.notes[0]!, /3 lines/);
  assert.deepEqual(importResults(text).unread, []);
});

test('sbc-bench: rows twice, header once or never, cores behind the values', () => {
  const set = setOf('sbc-bench.txt');
  assert.equal(set.tool, 'sbc-bench');
  const [first, second] = set.runs;
  assert.deepEqual(
    first!.measurements.map(({ repetition }) => repetition),
    [1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2],
  );
  assert.equal(first!.measurements[0]!.bytesPerSecond, 107e6);
  assert.ok(!codes(first!.measurements[0]!).includes('SIZES_ASSUMED'));
  assert.ok(codes(second!.measurements[0]!).includes('SIZES_ASSUMED'));
  assert.ok(
    set.runs.every((run) =>
      run.measurements.every(
        (measurement) => measurement.basis === 'elapsed' && codes(measurement).includes('REPEATED_ROW'),
      ),
    ),
  );

  const newer = only(
    importResults(`sbc-bench v0.9.72 Some Board (Wed, 27 Aug 2025 08:49:31 +0000)
Executing benchmark on each cluster individually
OpenSSL 3.0.17, built on 1 Jul 2025 (Library: OpenSSL 3.0.17 1 Jul 2025)
${HEADER}${ROW.trimEnd()} (Cortex-A55)\n${OTHER.trimEnd()} (Cortex-A76)\n`).sets,
  );
  assert.deepEqual([newer.toolVersion, newer.machine.model], ['v0.9.72', 'Some Board']);
  assert.deepEqual(
    [...new Set(only(newer.runs).measurements.map(({ cpu }) => cpu))],
    ['Cortex-A55', 'Cortex-A76'],
  );
});

test('a value without k: bytes as the tool prints them, or a k that was lost', () => {
  const value = (row: string, before = ''): unknown[] => {
    const own = only(runs(`${before}${HEADER}aes-128-cbc ${row}\n`)).measurements;
    return own
      .map((measurement) => [measurement.claimedBytesPerSecond, codes(measurement).includes('UNIT_ASSUMED')])
      .at(1) as unknown[];
  };
  assert.deepEqual(value('2000.50 8000.25 32.00k 120.00k 800.00k 1000.00k'), [8000.25, false]);
  assert.deepEqual(value('2000.50k 8000.25 9000.00k 9100.00k 9200.00k 9300.00k'), [8_000_250, true]);
  assert.deepEqual(value('2000.50k 20000.25 21000.00k 22000.00k 23000.00k 24000.00k'), [20_000_250, true]);
  // Counts decide, where there are any.
  const counts = "Doing aes-128-cbc for 3s on 64 size blocks: 375 aes-128-cbc's in 3.00s\n";
  assert.deepEqual(value('2000.50k 8000.25 9000.00k 9100.00k 9200.00k 9300.00k', counts), [8000.25, false]);
});
