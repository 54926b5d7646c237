/** The public cases, where the collection lies beside the repository: each file gives what its description states. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importResults } from '#src/interop/index.js';
import { caseOf, caseText, claims, codes, find, hasCases, only, rate, rates, ratio } from './fixtures.js';

const here = hasCases ? {} : { skip: 'the collection of cases is not beside the repository' };
const MIB = 2 ** 20;

test('01: user time, and the same chip by cryptodev’s own test', here, () => {
  const run = only(caseOf('01-openssl-speed-user-time.txt').runs);
  assert.equal(claims(run)[0], 63071.63);
  assert.equal(claims(run)[5], null);
  assert.deepEqual(rates(run), [2733.1, 8827.88, 17891.5, 24182.78, 24297.47, 22882.99]);
  assert.ok(run.measurements.every(({ estimated, basis }) => estimated && basis === 'cpu'));
  const other = caseOf('01-cryptodev-speed-test.txt');
  assert.equal(rate(other, { algorithm: 'aes-128-cbc', requestBytes: 1024 }), 24.5e6);
});

test('02: two runs and a table on one page; the engine is used, and a loss', here, () => {
  const { sets, unread } = importResults(caseText('02-notes-page.txt'));
  const [software, engine, table] = only(sets).runs;
  assert.deepEqual(
    [claims(software!)[0], claims(software!)[3], claims(software!)[5]],
    [30578.69, 45764.53, 45957.67],
  );
  assert.equal(claims(engine!)[3], 2627379.2);
  assert.deepEqual(rates(engine!), [2187.22, 7427.93, 3203.84, 8757.93, 15463.77, 22063.79]);
  const losses = engine!.measurements.map(
    ({ bytesPerSecond }, index) => software!.measurements[index]!.bytesPerSecond! / bytesPerSecond!,
  );
  assert.ok(Math.min(...losses) > 2 && Math.max(...losses) < 14);
  assert.deepEqual(claims(table!).slice(-6), [22729.05, 52835.75, 96532.65, 107768.83, 112194.9, 112361.47]);
  assert.equal(unread.length, 1);
});

test('04, 06, 08: counts alone', here, () => {
  assert.deepEqual(
    rates(only(caseOf('04-software-1.1.1b.txt').runs)),
    [40065.6, 52049.07, 56592.64, 58004.14, 58231.47, 58092.2],
  );
  const afalg = only(caseOf('04-afalg-1.1.1b.txt').runs);
  assert.deepEqual(rates(afalg), [1004.55, 3999.08, 14577.07, 45409.96, 98022.74, 107042.13]);
  assert.equal(afalg.engine?.requested, 'afalg');
  assert.ok(codes(afalg).includes('TRUNCATED') && codes(afalg).includes('FROM_COUNTS'));
  assert.deepEqual(
    rates(only(caseOf('06-lsmod-engine-speed.txt').runs)),
    [3276.48, 8463.49, 13849.6, 16554.33],
  );
  assert.deepEqual(
    claims(only(caseOf('08-turris-1.0.2k.txt').runs)),
    [35182.42, 40221.48, 42594.26, 42938.7, 43290.29],
  );
});

test('10: an engine that could not be loaded', here, () => {
  const run = only(caseOf('10-e2e-collapsed.txt').runs);
  assert.deepEqual(claims(run), [7572.55, 30271.42, 65763.39, 111196.43, 138932.48, 142154.65]);
  assert.deepEqual([run.engine?.requested, run.engine?.loaded], ['devcrypto', 'no']);
  assert.ok(
    run.measurements.every(({ engine, algorithm }) => engine === undefined && algorithm === 'sha512'),
  );
  assert.equal(run.processTimes?.cpuPercent, 99);
  assert.match(only(caseOf('10-local-3.0.19-invalid-afalg.txt').runs).engine!.reason!, /self-check/);
});

test('12: rows named evp', here, () => {
  const [one, four, engine, engines] = caseOf('12-ipq4029-evp-rows.txt').runs;
  const at = (requestBytes: number) => ({ algorithm: 'aes-256-cbc', requestBytes });
  assert.equal(Math.round(1 / ratio(engine!, one!, at(16))), 43);
  assert.equal(ratio(engine!, one!, at(16384)).toFixed(1), '4.9');
  assert.deepEqual([rate(four!, at(16384)), rate(engines!, at(16384))], [47442.6e3, 74667.35e3]);
  assert.equal(engines!.processes, 2);
});

test('14: -mr', here, () => {
  assert.equal(
    find(caseOf('14-openssl-1.0.2-mr.txt'), { algorithm: 'aes-128-cbc', requestBytes: 16 })
      .claimedBytesPerSecond,
    728616225.5,
  );
  const two = only(caseOf('14-local-3.0.19-mr-two-algs.txt').runs);
  assert.equal(two.measurements.length, 12);
  assert.equal(caseOf('14-local-3.0.19-aead-mr.txt').runs[0]!.measurements[1]!.requestBytes, 31);
});

test('16: labels, pipes, a missing k', here, () => {
  for (const name of ['16-collapsed.txt', '16-pipes.txt']) {
    const [software, kernel] = caseOf(name).runs;
    assert.equal(
      (1 / ratio(kernel!, software!, { algorithm: 'aes-128-cbc', requestBytes: 16 })).toFixed(1),
      '12.6',
    );
    assert.equal(
      ratio(kernel!, software!, { algorithm: 'aes-128-cbc', requestBytes: 8192 }).toFixed(2),
      '0.74',
    );
  }
  assert.equal(rate(caseOf('16-missing-k.txt'), { algorithm: 'sha512', requestBytes: 8192 }), 395487.91e3);
});

test('18: one run in seven forms', here, () => {
  for (const form of [
    'crlf',
    'bom-crlf',
    'elided',
    'nohup-two-runs',
    'nbsp-smartquotes',
    'wrapped60',
    'mail-quoted',
  ]) {
    const { runs } = caseOf(`18-${form}.txt`);
    for (const run of runs) {
      assert.deepEqual(
        claims(run),
        [982378.06, 1239585.54, 1287466.24, 1282021.38, 1308450.82, 1306738.69],
        form,
      );
    }
    assert.equal(runs.length, form === 'nohup-two-runs' ? 2 : 1);
  }
});

test('20: kcapi-speed', here, () => {
  const set = caseOf('20-kcapi-speed.txt');
  assert.equal(find(set, { algorithm: 'sm3', operation: 'digest' }).bytesPerSecond, 2_285_824);
  const sha = find(set, { algorithm: 'sha256', requestBytes: 65_536 });
  assert.deepEqual([sha.bytesPerSecond, sha.driverHint], [320 * 65_536, 'G']);
  assert.equal(set.runs[1]!.measurements[1]!.status, 'unavailable');
  assert.deepEqual(set.skipped, []);
  assert.equal(find(caseOf('20-kcapi-speed-retyped.txt'), { algorithm: 'sm3' }).requestBytes, 256);
});

test('22, 24, 26, 54: cryptsetup', here, () => {
  const nas = only(caseOf('22-cryptsetup-benchmark-collapsed.txt').runs);
  assert.deepEqual([nas.measurements.length, nas.kdfs.length], [18, 7]);
  assert.equal(rate(nas, { algorithm: 'aes-128-xts', operation: 'decrypt' }), 31 * MIB);
  assert.equal(
    rate(caseOf('24-benchmark-de-comma.txt'), { algorithm: 'aes-128-cbc', operation: 'decrypt' }),
    3002.3 * MIB,
  );
  assert.equal(
    rate(caseOf('24-benchmark-1x-narrow.txt'), { algorithm: 'aes-256-xts', operation: 'encrypt' }),
    3766.1 * MIB,
  );
  assert.equal(
    only(caseOf('24-benchmark-adiantum-wide.txt').runs).measurements[1]!.bytesPerSecond,
    421.6 * MIB,
  );
  assert.equal(
    rate(caseOf('24-benchmark-bold.txt'), { algorithm: 'aes-256-cbc', operation: 'encrypt' }),
    88.1 * MIB,
  );
  const extra = caseOf('24-benchmark-extra-column.txt');
  assert.equal(rate(extra, { algorithm: 'aes-256-cbc', operation: 'encrypt' }), 34.9 * MIB);
  assert.equal(only(extra.skipped).line, 2);
  const [caam, plain] = caseOf('26-benchmark-caam-pair.txt').runs;
  assert.equal(ratio(caam!, plain!, { algorithm: 'aes-256-cbc', operation: 'encrypt' }).toFixed(2), '2.87');
  assert.equal(ratio(caam!, plain!, { algorithm: 'aes-128-xts', operation: 'encrypt' }).toFixed(2), '1.63');
  for (const name of [
    '24-benchmark-de-local-noafalg.txt',
    '54-benchmark-noafalg-local.txt',
    '54-messages.txt',
  ]) {
    const run = only(caseOf(name).runs);
    assert.deepEqual(codes(run), ['NO_KERNEL_INTERFACE'], name);
    assert.ok(run.kdfs.length > 0 && run.measurements.length === 0, name);
  }
});

test('60: sbc-bench', here, () => {
  const set = caseOf('60-sbc-bench-excerpt-derived.txt');
  assert.deepEqual([set.tool, set.runs.length], ['sbc-bench', 2]);
  assert.ok(set.runs[1]!.measurements.every((measurement) => codes(measurement).includes('SIZES_ASSUMED')));
});

test('cases of other kinds hold no figures', here, () => {
  for (const name of [
    '22-proc-crypto-fragment.txt',
    '26-luksdump-cut.txt',
    '26-proc-crypto-caam.txt',
    '28-dump-info-afalg.txt',
    '30-proc-crypto-grep.txt',
    '42-cryptodev-example.txt',
    '46-vectors.txt',
    '52-dmsetup-table.txt',
    'reports/mt7628-engine-c-t.txt',
  ]) {
    const { sets } = importResults(caseText(name));
    assert.deepEqual(
      sets.flatMap(({ runs }) => runs),
      [],
      name,
    );
  }
});
