/**
 * The collector that runs on routers: in three shells, on a made-up machine full of secrets. What the machine prints is written here by
 * hand, in the form that the programs have; what must not get out is planted in every place that the script reads.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';

import { hwcrypt, ROOT } from '../cli/helpers.js';

const SCRIPT = join(ROOT, 'probe/hwcrypt-probe.sh');

const busybox = [
  join(ROOT, '.cache/rig/busybox-static/bin/busybox'),
  '/bin/busybox',
  '/usr/bin/busybox',
].find((path) => existsSync(path));

/** Shells by name: the router's, Debian's, and everybody's. */
const SHELLS: Readonly<Record<string, readonly string[] | undefined>> = {
  'busybox ash': busybox === undefined ? undefined : [busybox, 'ash'],
  dash: spawnSync('dash', ['-c', ':']).error ? undefined : ['dash'],
  bash: ['bash', '--posix'],
};

const folder = mkdtempSync(join(tmpdir(), 'hwcrypt-probe-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const HOST = 'cellar-router';
const SECRETS = [
  HOST,
  'a4:5e:60:c1:02:f7',
  'A4-5E-60-C1-02-F7',
  'a45e60c102f7',
  '7f3a9c10-1b2d-4e5f-8a9b-0c1d2e3f4a5b',
  '192.168.77.13',
  '2001:db8:77',
  'SN0042XYZ77',
  '00000000deadbeef',
  '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f',
  '5f 1c 88 d0 9e 7a 44 21 aa 01 02 03',
  'anna',
  'grandmas-photos',
  'secretpin',
  'Cellar-Router',
  'TaxReturns',
  'aunts-videos',
  'de.ad.be.ef.00.11',
  'dead.beef.0011',
  'ABC12345',
  'XYZ987',
  'lisa',
  'hunter2',
  'short12',
  'AnnasWLAN',
  'geheim123',
  'f00key',
];

function plant(path: string, text: string): void {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function program(name: string, script: string): void {
  plant(`bin/${name}`, `#!/bin/sh\n${script}\n`);
  chmodSync(join(folder, 'bin', name), 0o755);
}

plant('root/proc/sys/kernel/hostname', `${HOST}\n`);
plant(
  'root/proc/cmdline',
  'console=ttyS0 ethaddr=a4:5e:60:c1:02:f7 serialno=SN0042XYZ77 ip=192.168.77.13 crypto.key=f00key modprobe.blacklist=cryptodev quiet\n',
);
plant(
  'root/etc/openwrt_release',
  "DISTRIB_ID='OpenWrt'\nDISTRIB_RELEASE='23.05.5'\nDISTRIB_TARGET='ramips/mt7621'\n",
);
plant('root/proc/device-tree/model', 'GnuBee GB-PC1\0');
plant('root/proc/device-tree/serial-number', 'SN0042XYZ77\0');
plant(
  'root/proc/device-tree/crypto@1e004000/compatible',
  'mediatek,mtk-eip93\0inside-secure,safexcel-eip93ies\0',
);
plant('root/proc/device-tree/crypto@1e004000/status', 'okay\0');
plant(
  'root/proc/cpuinfo',
  'system type\t\t: MediaTek MT7621\nprocessor\t\t: 0\ncpu model\t\t: MIPS 1004Kc V2.15\nSerial\t\t: 00000000deadbeef\n\nprocessor\t\t: 1\ncpu model\t\t: MIPS 1004Kc V2.15\n',
);
plant('root/proc/meminfo', 'MemTotal:         509000 kB\nMemAvailable:     400000 kB\n');
plant('root/proc/loadavg', '0.05 0.10 0.15 1/88 4321\n');
plant(
  'root/proc/crypto',
  'name         : cbc(aes)\ndriver       : cbc(aes-eip93)\nmodule       : crypto_hw_eip93\npriority     : 1500\ntype         : skcipher\n',
);
plant('root/proc/modules', 'crypto_hw_eip93 28672 0 - Live 0x83e2c000 (O)\n');
plant(
  'root/etc/modprobe.d/local.conf',
  '# anna did this on 192.168.77.13\ninstall algif_aead /bin/false\nblacklist nouveau\n',
);
plant('root/proc/net/protocols', 'protocol  size sockets\nALG       1234      0\n');
plant('root/proc/sys/crypto/af_alg_restrict', '1\n');
plant('root/proc/self/status', 'Name:\tsh\nCapEff:\t0000000000000000\nSeccomp:\t2\n');
plant(
  'root/proc/interrupts',
  '           CPU0       CPU1\n 25:      70123          0  MIPS GIC  19  1e004000.crypto\n',
);
plant('root/proc/partitions', 'major minor  #blocks  name\n\n   8        1     1024 sda1\n');
plant(
  'root/dev/sda1',
  Buffer.concat([Buffer.from('LUKS\xba\xbe', 'latin1'), Buffer.alloc(64)]).toString('latin1'),
);
plant('root/sys/block/sda/queue/logical_block_size', '512\n');
plant('root/sys/block/sda/queue/physical_block_size', '4096\n');
plant('root/sys/block/sda/queue/rotational', '1\n');
plant('root/sys/block/sda/size', '1000\n');
plant('root/sys/block/sda/dev', '8:0\n');
plant('root/sys/class/block/sda/dev', '8:0\n');
plant('root/sys/class/block/sda/queue/logical_block_size', '512\n');
plant('root/sys/class/block/sda1/dev', '8:1\n');
plant('root/sys/class/block/loop0/dev', '7:0\n');
plant('root/sys/block/sda/device/serial', 'SN0042XYZ77\n');
plant('root/sys/bus/platform/devices/1e004000.crypto/of_node/compatible', 'mediatek,mtk-eip93\0');
plant('root/sys/bus/platform/drivers/mtk-eip93/bind', '');
symlinkSync('../../drivers/mtk-eip93', join(folder, 'root/sys/bus/platform/devices/1e004000.crypto/driver'));
symlinkSync(
  '../../devices/1e004000.crypto',
  join(folder, 'root/sys/bus/platform/drivers/mtk-eip93/1e004000.crypto'),
);
plant(
  'root/ssl/openssl.cnf',
  'openssl_conf = openssl_init\n[openssl_init]\nengines = engine_section\n[engine_section]\ndevcrypto = devcrypto\nPIN = secretpin\nemailAddress = anna@example.org\n',
);
plant(
  'root/kernel-log',
  `[    3.100000] mtk-eip93 1e004000.crypto: EIP93 Crypto Engine Initialized.
[    3.200000] crypto: probe by cellar-router at 192.168.77.13, 2001:db8:77::13
[    3.300000] alg: mac a4:5e:60:c1:02:f7 A4-5E-60-C1-02-F7 a45e60c102f7 serial: SN0042XYZ77 S/N SN0042XYZ77
[    3.400000] dm-crypt: anna@cellar-router opened /home/anna/x 7f3a9c10-1b2d-4e5f-8a9b-0c1d2e3f4a5b
[    3.410000] crypt: host Cellar-Router up, aes: CELLAR-ROUTER, cellar-Router.
[    3.420000] device-mapper: crypt: aunts-videos: Error allocating crypto tfm
[    3.430000] device-mapper: table: 253:0: crypt: Error allocating crypto tfm
[    3.440000] device-mapper: crypt: xts(aes) using implementation "xts-aes-aesni"
[    3.450000] systemd-cryptsetup[211]: Set cipher aes, mode xts-plain64, key size 512 bits for device /dev/disk/by-label/TaxReturns.
[    3.460000] systemd[1]: Starting systemd-cryptsetup@aunts\\x2dvideos.service - Cryptography Setup for aunts-videos
[    3.470000] crypt: eth0 mac de.ad.be.ef.00.11 dead.beef.0011
[    3.480000] aes usb 1-1: SN=ABC12345, firmware serial number is XYZ987
[    3.490000] luks: mount /mnt/lisa-x /media/lisa/Stick user=lisa passphrase=hunter2 key=short12 /dev/mapper/aunts-videos
[    3.495000] cfg: SSID "AnnasWLAN" aes ccmp psk=geheim123
[    3.500000] alg: key 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f
`,
);
program(
  'dmsetup',
  `cat << 'END'
grandmas-photos: 0 7501344768 crypt aes-xts-plain64 :64:logon:cryptsetup:7f3a9c10-1b2d-4e5f-8a9b-0c1d2e3f4a5b-d0 0 8:1 32768 1 sector_size:4096
cellar-router-root: 0 204800 crypt aes-cbc-essiv:sha256 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f 0 8:2 4096
0 204800 crypt capi:ecb(cipher_null)-plain - 0 7:2 0
END`,
);
program(
  'cryptsetup',
  `case $1 in
--version) echo 'cryptsetup 2.6.1' ;;
benchmark) echo "aes-cbc 128b 39.3 MiB/s 39.6 MiB/s" ;;
luksDump) cat << 'END'
LUKS header information
Version:        2
UUID:           7f3a9c10-1b2d-4e5f-8a9b-0c1d2e3f4a5b
Label:          grandmas-photos
Data segments:
  0: crypt
        offset: 16777216 [bytes]
        cipher: aes-xts-plain64
        sector: 512 [bytes]
Keyslots:
  1: luks2
        Key:        512 bits
        PBKDF:      argon2id
        Memory:     1048576
        Salt:       5f 1c 88 d0 9e 7a 44 21 aa 01 02 03
Digests:
  0: pbkdf2
        Digest:     5f 1c 88 d0 9e 7a 44 21 aa 01 02 03
END
;; esac`,
);
program(
  'openssl',
  `case "$1 $2" in
'version -a') printf 'OpenSSL 1.1.1w  11 Sep 2023\\nbuilt on: by anna@cellar-router\\nOPENSSLDIR: "%s"\\n' '${folder}/root/ssl' ;;
'version -d') echo 'OPENSSLDIR: "${folder}/root/ssl"' ;;
'version -e') echo 'ENGINESDIR: "${folder}/engines"' ;;
'engine '*) printf '(dynamic) Dynamic engine loading support\\n(devcrypto) /dev/crypto engine\\n [AES-128-CBC]\\n' ;;
'speed -help') echo ' -seconds +int' >&2 ;;
'speed '*) echo "ran: $* conf=\${OPENSSL_CONF:-}" ;;
esac`,
);

function collect(shell: readonly string[], args: readonly string[], input?: string) {
  const [file, ...rest] = shell as [string, ...string[]];
  const work = mkdtempSync(join(tmpdir(), 'hwcrypt-probe-cwd-'));
  try {
    const done = spawnSync(file, [...rest, ...(input === undefined ? [SCRIPT] : ['-s', '--']), ...args], {
      cwd: work,
      encoding: 'utf8',
      timeout: 50_000,
      ...(input === undefined ? {} : { input }),
      env: {
        PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}`,
        TMPDIR: work,
        HOME: work,
        HWCRYPT_PROBE_ROOT: join(folder, 'root'),
      },
    });
    assert.deepEqual(readdirSync(work), [], 'it left a file behind');
    return done;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function sectionOf(text: string, name: string): string {
  const [, body = ''] =
    new RegExp(`^\\[\\[${name}\\]\\][^\\n]*\\n([\\s\\S]*?)(?=^\\[\\[)`, 'm').exec(text) ?? [];
  return body.trim();
}

for (const [name, shell] of Object.entries(SHELLS)) {
  const skip = shell === undefined ? `${name} is not installed` : false;

  test(`${name}: facts are there and secrets are not`, { skip }, () => {
    const { status, stdout, stderr } = collect(shell!, ['--quick']);
    assert.equal(stderr, '');
    assert.equal(status, 0);
    for (const secret of SECRETS) assert.ok(!stdout.includes(secret), `${secret} got out:\n${stdout}`);
    assert.match(stdout, /^hwcrypt-probe 1\n# /);
    assert.match(stdout, /\n\[\[end\]\]\n$/);
    assert.match(sectionOf(stdout, 'distribution'), /^DISTRIB_TARGET='ramips\/mt7621'$/m);
    assert.equal(sectionOf(stdout, 'cmdline'), 'crypto.key=[removed]\nmodprobe.blacklist=cryptodev');
    assert.equal(sectionOf(stdout, 'model'), 'GnuBee GB-PC1');
    assert.equal(
      sectionOf(stdout, 'cpuinfo'),
      'system type\t\t: MediaTek MT7621\ncpu model\t\t: MIPS 1004Kc V2.15\nprocessors\t: 2',
    );
    assert.match(sectionOf(stdout, 'memory'), /^loadavg: 0.05 0.10 0.15$/m);
    assert.match(sectionOf(stdout, 'crypto'), /^driver {7}: cbc\(aes-eip93\)$/m);
    assert.equal(sectionOf(stdout, 'modules'), 'crypto_hw_eip93 28672 0 - Live (O)');
    assert.equal(sectionOf(stdout, 'modprobe'), '/etc/modprobe.d/local.conf: install algif_aead /bin/false');
    assert.match(
      sectionOf(stdout, 'device-tree'),
      /^crypto@1e004000 compatible=mediatek,mtk-eip93 .* status=okay$/m,
    );
    assert.equal(
      sectionOf(stdout, 'platform'),
      '1e004000.crypto compatible=mediatek,mtk-eip93 driver=mtk-eip93',
    );
    assert.equal(sectionOf(stdout, 'drivers'), 'platform/drivers/mtk-eip93: 1e004000.crypto');
    assert.match(sectionOf(stdout, 'af-alg'), /^af_alg_restrict = 1$/m);
    assert.match(sectionOf(stdout, 'af-alg'), /^Seccomp:\t2$/m);
    assert.match(sectionOf(stdout, 'openssl-engines'), /^\(devcrypto\)/m);
    assert.match(sectionOf(stdout, 'openssl-config'), /: devcrypto = devcrypto$/m);
    assert.deepEqual(sectionOf(stdout, 'dm-crypt').split('\n'), [
      '0 7501344768 crypt aes-xts-plain64 :64:logon:[removed] 0 8:1 32768 1 sector_size:4096',
      '0 204800 crypt aes-cbc-essiv:sha256 [removed] 0 8:2 4096',
      '0 204800 crypt capi:ecb(cipher_null)-plain [removed] 0 7:2 0',
    ]);
    assert.match(sectionOf(stdout, 'luks'), /sector: 512 \[bytes\]/);
    assert.match(sectionOf(stdout, 'luks'), /Memory: {5}1048576/);
    assert.equal(
      sectionOf(stdout, 'block'),
      'sda logical=512 physical=4096 rotational=1 sectors=1000 dev=8:0\nsda1 dev=8:1',
    );
    assert.match(sectionOf(stdout, 'log'), /table: 253:0: crypt: Error allocating crypto tfm$/m);
    assert.match(sectionOf(stdout, 'log'), /crypt: xts\(aes\) using implementation "xts-aes-aesni"$/m);
    assert.match(sectionOf(stdout, 'log'), /1e004000\.crypto: EIP93 Crypto Engine Initialized\.$/m);
    assert.doesNotMatch(stdout, /ran: speed/);
  });

  test(`${name}: timings, the software run without configuration, the engine by both clocks`, {
    skip,
  }, () => {
    // A file stands for the device: the script only asks whether it is there.
    const { status, stdout } = collect(shell!, []);
    assert.equal(status, 0);
    assert.equal(
      sectionOf(stdout, 'speed-software'),
      'ran: speed -elapsed -seconds 1 -evp aes-128-cbc conf=/dev/null',
    );
    assert.equal(
      sectionOf(stdout, 'speed-configured'),
      'ran: speed -elapsed -seconds 1 -evp aes-128-cbc conf=',
    );
    assert.equal(sectionOf(stdout, 'speed-user-time'), 'ran: speed -seconds 1 -evp aes-128-cbc conf=');
    assert.equal(
      sectionOf(stdout, 'speed-engine'),
      'ran: speed -elapsed -seconds 1 -evp aes-128-cbc -engine afalg conf=',
      'devcrypto is not tried without /dev/crypto',
    );
    assert.match(sectionOf(stdout, 'benchmark'), /^aes-cbc 128b/);
    assert.match(sectionOf(stdout, 'interrupts-before'), /70123 .*1e004000\.crypto/);
    assert.match(stdout, /\[\[interrupts-after\]\] /);
  });

  test(`${name}: given on standard input, as ssh does`, { skip }, () => {
    const { status, stdout } = collect(shell!, ['--quick'], readFileSync(SCRIPT, 'utf8'));
    assert.equal(status, 0);
    assert.match(stdout, /\n\[\[end\]\]\n$/);
  });

  test(`${name}: wrong arguments and help`, { skip }, () => {
    const wrong = collect(shell!, ['--fast']);
    assert.equal(wrong.status, 2);
    assert.match(wrong.stderr, /unknown argument/);
    assert.equal(wrong.stdout, '');
    assert.match(collect(shell!, ['--help']).stdout, /^Usage: /);
  });

  test(`${name}: programs that hang, with what they started, and one that does not listen`, {
    skip,
  }, async () => {
    const bin = hanging({
      // A wrapper: who ends only the shell leaves the program, which keeps the pipe open.
      openssl: 'case $1 in engine) sleep 61301; echo never ;; *) exit 1 ;; esac',
      cryptsetup: "trap '' TERM; echo cryptsetup 2.6.1; while :; do sleep 61301; done",
    });
    const started = Date.now();
    const { status, text } = await pipe(shell!, SOURCE.replace('patience=6', 'patience=1'), bin);
    assert.equal(status, 0);
    assert.match(sectionOf(text, 'openssl-engines'), /^hwcrypt-probe: ended after 1 s$/);
    assert.match(sectionOf(text, 'cryptsetup'), /^cryptsetup 2\.6\.1\nhwcrypt-probe: ended after 1 s$/);
    assert.match(sectionOf(text, 'log'), /EIP93/);
    assert.match(text, /\n\[\[end\]\]\n$/);
    assert.ok(Date.now() - started < 25_000, 'a guard that is done kept the pipe open');
    assert.deepEqual(processes('61301'), []);
  });
}

const SOURCE = readFileSync(SCRIPT, 'utf8');

/** A folder of programs, in the place of the router's. */
function hanging(scripts: Readonly<Record<string, string>>): string {
  const bin = mkdtempSync(join(folder, 'hanging-'));
  for (const [name, script] of Object.entries(scripts)) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  return bin;
}

/** Command lines that have this word. */
const processes = (word: string): string[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ');
      } catch {
        return [];
      }
    })
    .filter((line) => line.includes(word));

/** Gives the script on standard input; `closeAfter` closes the pipe when so many bytes have come. */
async function pipe(
  [file, ...rest]: readonly string[],
  script: string,
  bin: string,
  { args = ['--quick'], closeAfter = Number.POSITIVE_INFINITY } = {},
): Promise<{ status: number | null; text: string }> {
  const child = spawn(file!, [...rest, '-s', '--', ...args], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: { PATH: `${bin}:${process.env['PATH'] ?? ''}`, HWCRYPT_PROBE_ROOT: join(folder, 'root') },
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    if (text.length > closeAfter) child.stdout.destroy();
  });
  child.stdin.on('error', () => {});
  child.stdin.end(script);
  const [status] = (await once(child, 'close')) as [number | null];
  return { status, text };
}

/** One of them will do for the rest; busybox's own would take its applets for the programs that stand here. */
const ANY = SHELLS['dash'] ?? ['bash', '--posix'];

test('a program without a guard that hangs: all is given up, the text so far is there, and nothing stays', async () => {
  const bin = hanging({ find: 'sleep 61302', openssl: 'exit 1' });
  const { status, text } = await pipe(ANY, SOURCE.replace('last_call=57', 'last_call=3'), bin);
  assert.equal(status, 0);
  assert.match(text, /\[\[crypto\]\] /);
  assert.match(text, /\nhwcrypt-probe: given up after 3 s: the rest is missing\n$/);
  assert.deepEqual(processes('61302'), []);
});

test('timings that hang end in time, each of them is told of, and the rest is left out', async () => {
  const bin = hanging({
    openssl:
      'case "$1 $2" in "speed -help") echo " -seconds +int" ;; speed*) sleep 61303 ;; *) exit 1 ;; esac',
    cryptsetup: 'exit 1',
  });
  const hurried = SOURCE.replaceAll('speed_takes + 5', '2').replace('time_for 4 ', 'time_for 99 ');
  const { status, text } = await pipe(ANY, hurried, bin, { args: [] });
  assert.equal(status, 0);
  assert.equal(sectionOf(text, 'speed-software'), 'hwcrypt-probe: ended after 2 s');
  assert.equal(sectionOf(text, 'speed-user-time'), 'hwcrypt-probe: ended after 2 s');
  assert.match(text, /left out, it would take 99 s and \d+ s are left: cryptsetup benchmark/);
  assert.match(text, /\[\[interrupts-after\]\] [\s\S]*\n\[\[end\]\]\n$/);
  assert.deepEqual(processes('61303'), []);
});

test('every program hangs: told of once each, all the rest is there, below a minute', {
  timeout: 70_000,
}, async () => {
  const wrapped = 'sleep 61305; echo never';
  const bin = hanging({
    openssl: 'exec sleep 61305',
    ...Object.fromEntries(
      ['cryptsetup', 'dmsetup', 'dpkg-query', 'opkg', 'apk', 'uci'].map((name) => [name, wrapped]),
    ),
  });
  const started = Date.now();
  const hurried = SOURCE.replace('patience=6', 'patience=1').replace('limit=50', 'limit=14');
  const { status, text } = await pipe(ANY, hurried, bin, { args: [] });
  assert.equal(status, 0);
  assert.ok(Date.now() - started < 30_000, `${Date.now() - started} ms`);
  for (const name of ['openssl-engines', 'openssl-providers', 'openssl-dump', 'speed-software', 'luks'])
    assert.match(sectionOf(text, name), /^hwcrypt-probe: left out, \w+ has hung before/, name);
  assert.match(sectionOf(text, 'log'), /EIP93/);
  assert.match(text, /\n\[\[end\]\]\n$/);
  assert.deepEqual(processes('61305'), []);
});

test('a reader that goes away ends it', async () => {
  // More than the pipe holds, so that there is something to write when nobody reads.
  const bin = hanging({ openssl: 'yes "OpenSSL of many words" | head -n 20000', cryptsetup: 'sleep 61304' });
  await pipe(ANY, SOURCE.replace('patience=6', 'patience=2'), bin, { closeAfter: 1000 });
  for (let tries = 0; processes('61304').length > 0 && tries < 50; tries++) await setTimeout(100);
  assert.deepEqual(processes('61304'), []);
});

test('busybox alone, as nobody, where nothing can be written and there is neither /proc nor /sys', {
  skip: busybox === undefined || process.getuid?.() !== 0 ? 'needs busybox and root' : false,
}, (context) => {
  const bare = mkdtempSync(join(tmpdir(), 'hwcrypt-bare-'));
  try {
    mkdirSync(join(bare, 'dev'));
    mkdirSync(join(bare, 'bin'));
    copyFileSync(busybox!, join(bare, 'bin/busybox'));
    chmodSync(bare, 0o755);
    if (spawnSync('mknod', ['-m', '666', join(bare, 'dev/null'), 'c', '1', '3']).status !== 0)
      return context.skip('no devices can be made here');
    const inside = (...words: string[]) =>
      spawnSync('chroot', [...words.slice(0, -1), bare, 'sh', '-c', words.at(-1)!], {
        input: SOURCE,
        encoding: 'utf8',
        env: { PATH: '/bin:/usr/bin:/sbin:/usr/sbin' },
      });
    if (spawnSync('chroot', [bare, '/bin/busybox', '--install', '-s', '/bin']).status !== 0)
      return context.skip('busybox here is not a static one');
    const { status, stdout, stderr } = inside(
      '--userspec=65534:65534',
      'touch /x 2>&1 && exit 9; sh -s -- --quick',
    );
    assert.equal(stderr, '');
    assert.equal(status, 0);
    assert.match(sectionOf(stdout, 'crypto'), /\/proc\/crypto: [Nn]o such file/);
    assert.match(stdout, /^protocols: cannot be read\nuid: 65534$/m);
    assert.match(stdout, /\n\[\[end\]\]\n$/);
    assert.deepEqual(readdirSync(bare).toSorted(), ['bin', 'dev']);
  } finally {
    rmSync(bare, { recursive: true, force: true });
  }
});

test('shellcheck has nothing to say', {
  skip: spawnSync('shellcheck', ['--version']).error ? 'shellcheck is not installed' : false,
}, () => {
  const { status, stdout } = spawnSync('shellcheck', ['--shell=sh', '--severity=style', SCRIPT], {
    encoding: 'utf8',
  });
  assert.equal(stdout, '');
  assert.equal(status, 0);
});

test('hwcrypt probe prints the script as it is', () => {
  const { status, stdout } = hwcrypt(['probe']);
  assert.equal(status, 0);
  assert.equal(stdout, readFileSync(SCRIPT, 'utf8'));
  assert.equal(hwcrypt(['probe', 'router']).status, 2);
});
