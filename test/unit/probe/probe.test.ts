/**
 * The collector that runs on routers: in three shells, on a made-up machine full of secrets. What the machine prints is written here by
 * hand, in the form that the programs have; what must not get out is planted in every place that the script reads.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
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
  '2001:db8:77::13',
  'SN0042XYZ77',
  '00000000deadbeef',
  '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f',
  '5f 1c 88 d0 9e 7a 44 21 aa 01 02 03',
  'anna',
  'grandmas-photos',
  'secretpin',
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
  'console=ttyS0 ethaddr=a4:5e:60:c1:02:f7 serialno=SN0042XYZ77 ip=192.168.77.13 modprobe.blacklist=cryptodev quiet\n',
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
    assert.equal(sectionOf(stdout, 'cmdline'), 'modprobe.blacklist=cryptodev');
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
    assert.equal(sectionOf(stdout, 'block'), 'sda logical=512 physical=4096 rotational=1 sectors=1000');
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

  test(`${name}: wrong arguments, help, and a program that hangs`, { skip }, () => {
    const wrong = collect(shell!, ['--fast']);
    assert.equal(wrong.status, 2);
    assert.match(wrong.stderr, /unknown argument/);
    assert.equal(wrong.stdout, '');
    assert.match(collect(shell!, ['--help']).stdout, /^Usage: /);
    const run = /^run\(\) \{[\s\S]*?^\}/m.exec(readFileSync(SCRIPT, 'utf8'))![0];
    const [file, ...rest] = shell!;
    const before = Date.now();
    const hung = spawnSync(
      file!,
      [...rest, '-c', `${run}\nrun 1 sleep 600 | cat; run 5 echo done; echo after`],
      {
        encoding: 'utf8',
        timeout: 30_000,
      },
    );
    assert.equal(hung.stdout, 'hwcrypt-probe: ended after 1 s\ndone\nafter\n');
    assert.ok(Date.now() - before < 20_000, 'a guard that is done kept the pipe open');
  });
}

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
