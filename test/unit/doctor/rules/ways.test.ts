/** AF_ALG: each cause told from the others. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bundle, diagnosed, EIP93, finding, GENERIC, ids, procCrypto } from '../helpers.js';

const NO_FAMILY = 'OSError: [Errno 97] Address family not supported by protocol';
const ENOENT = 'AF_ALG: bind failed: No such file or directory';
const kernel = (release: string): string => `Linux host ${release} #1 SMP x86_64\n`;

test('EAFNOSUPPORT: switched off, blacklisted, not built, not loaded, hidden', () => {
  assert.equal(diagnosed(NO_FAMILY, 'crypto.af_alg_restrict = 2').findings[0]!.id, 'af-alg-restricted');
  const blacklisted = diagnosed(NO_FAMILY, '/etc/modprobe.d/cve.conf: install af_alg /bin/false')
    .findings[0]!;
  assert.equal(blacklisted.id, 'af-alg-blacklisted');
  assert.match(blacklisted.details.join(' '), /CVE-2026-31431/);
  assert.match(
    finding('af-alg-absent', NO_FAMILY, '# CONFIG_CRYPTO_USER_API_SKCIPHER is not set').verdict,
    /built without AF_ALG/,
  );
  assert.match(
    finding('af-alg-absent', `${bundle({ 'module-files': 'kernel/crypto/algif_skcipher.ko' })}\n${NO_FAMILY}`)
      .verdict,
    /installed as modules, but was not loaded/,
  );
  assert.match(
    finding('af-alg-absent', `${bundle({ 'modules-builtin': 'kernel/crypto/af_alg.ko' })}\n${NO_FAMILY}`)
      .verdict,
    /something hides it from this process/,
  );
  assert.match(
    finding('af-alg-absent', NO_FAMILY).verdict,
    /built without it, or its module is missing or kept out/,
  );
});

test('EPERM and EACCES are filters', () => {
  assert.match(
    finding('af-alg-denied', 'socket(AF_ALG): Operation not permitted', 'Seccomp:\t2').verdict,
    /seccomp filter/,
  );
  assert.equal(
    finding('af-alg-denied', 'socket(AF_ALG): Operation not permitted', 'Seccomp:\t2').sureness,
    'certain',
  );
  assert.match(finding('af-alg-denied', 'AF_ALG socket: Permission denied').verdict, /SELinux, AppArmor/);
});

test('ENOENT from bind: the six causes, or the one that the facts name', () => {
  const unknown = diagnosed(ENOENT).findings[0]!;
  assert.equal(unknown.id, 'bind-enoent');
  assert.equal(unknown.sureness, 'possible');
  assert.equal(diagnosed(ENOENT, 'af_alg_restrict = 1').findings[0]!.id, 'af-alg-restricted');
  assert.equal(
    diagnosed(ENOENT, 'modprobe.d/x.conf: install algif_skcipher /bin/true').findings[0]!.id,
    'af-alg-blacklisted',
  );
  const old = 'ALG_PERR: engines/e_afalg.c(462): Failed to bind socket : No such file or directory';
  assert.equal(diagnosed(old).findings[0]!.id, 'bind-enoent');
});

test('7.2 cuts engines off, 7.3 restricts by default', () => {
  const cut = diagnosed(bundle({ kernel: 'Linux 7.2.1 aarch64', crypto: procCrypto(...GENERIC, ...EIP93) }))
    .findings[0]!;
  assert.equal(cut.id, 'af-alg-cut-off');
  assert.match(cut.verdict, /your EIP93 serves dm-crypt and IPsec, but no program/);
  assert.ok(
    !ids(bundle({ kernel: 'Linux 7.1.9 aarch64', crypto: procCrypto(...GENERIC, ...EIP93) })).includes(
      'af-alg-cut-off',
    ),
  );
  assert.equal(finding('af-alg-restricted', kernel('7.3.0')).sureness, 'likely');
  assert.match(
    finding('af-alg-restricted', 'af_alg_restrict: 1', 'CapEff:\t0000000000000000').details.join(' '),
    /which this process does not have/,
  );
  assert.ok(!ids(kernel('7.3.0'), 'crypto.af_alg_restrict = 0').includes('af-alg-restricted'));
});

test('cryptsetup’s benchmark without AF_ALG is no alarm about the disk, in any language', () => {
  const german =
    'Die benötigte Crypto-Kernel-Schnittstelle ist nicht verfügbar.\nStellen Sie sicher, dass das Kernelmodul »algif_skcipher« geladen ist.';
  for (const text of [
    'Required kernel crypto interface not available.\nEnsure you have algif_skcipher kernel module loaded.',
    german,
  ]) {
    const found = diagnosed(text);
    assert.match(found.verdict, /your encrypted disk does not/);
    assert.match(found.findings[0]!.details.join(' '), /dm-crypt asks the kernel directly/);
  }
});

test('only the AEAD module kept out is what distributions did', () => {
  const found = finding('af-alg-blacklisted', 'blacklist.conf: install algif_aead /bin/false');
  assert.equal(found.kind, 'advice');
  assert.match(found.details.join(' '), /Ciphers and hashes go on/);
});

test('other errors of AF_ALG’s users', () => {
  assert.match(
    finding('af-alg-usage', 'out.bin ref.bin differ: byte 65537, line 12').verdict,
    /IV was not carried/,
  );
  assert.match(
    finding('af-alg-usage', 'libkcapi - Error: NETLINK_CRYPTO: cannot obtain cipher information').verdict,
    /crypto_user/,
  );
  assert.match(finding('af-alg-usage', 'setsockopt(ALG_SET_KEY): Device or resource busy').verdict, /EBUSY/);
});

test('sockets of other families fail in the same words, and are none of ours', () => {
  for (const text of [
    'docker: Error response from daemon: OCI runtime start failed: address family not supported by protocol: unknown.',
    'listen tcp [::]:80: socket: Address family not supported by protocol',
    'socket error: Operation not permitted (socket(AF_VSOCK))',
  ])
    assert.deepEqual(
      ids(text, 'Linux version 6.6.1').filter((id) => id.startsWith('af-alg')),
      [],
      text,
    );
  assert.ok(
    ids('socket(AF_ALG, SOCK_SEQPACKET, 0): Address family not supported by protocol').includes(
      'af-alg-absent',
    ),
  );
});

test('iwd’s list of what the kernel lacks; a name that is of no type for sockets', () => {
  assert.equal(
    diagnosed(
      'iwd[736]: No CMAC(AES) support found\niwd[736]: The following options are missing in the kernel:\niwd[736]:        CONFIG_CRYPTO_USER_API_HASH\n',
    ).findings[0]!.id,
    'af-alg-absent',
  );
  assert.ok(!ids('CONFIG_CRYPTO_USER_API_HASH=y', 'Linux version 6.6.1').includes('af-alg-absent'));
  assert.match(
    finding('af-alg-usage', 'stress-ng: fail: af-alg: bind failed, errno=22 (Invalid argument)').verdict,
    /refuses the name \(EINVAL\)/,
  );
  assert.equal(
    diagnosed('kcapi_cipher_init(&handle, "xts(aes)", 0) returns error -2 ENOENT').findings[0]!.id,
    'bind-enoent',
  );
});

test('EOPNOTSUPP of AF_ALG, and a request that it refuses', () => {
  assert.match(
    finding('af-alg-usage', 'sendmsg using ecb(aes) failed: errno=22 (Invalid argument)').details.join(' '),
    /ECB takes no IV/,
  );
  assert.ok(
    !ids('sendmsg failed: errno=22 (Invalid argument)', 'Linux version 6.6.1').includes('af-alg-usage'),
  );
  assert.match(
    finding('af-alg-usage', 'stress-ng: af-alg: accept failed, errno=95 (Operation not supported)').verdict,
    /does not do what was asked of it \(EOPNOTSUPP\)/,
  );
  assert.ok(!ids('mount: Operation not supported', 'Linux version 6.6.1').includes('af-alg-usage'));
});

test('Python’s ENOENT: of a bind, and of a file', () => {
  const bind = "    s.bind(('skcipher', 'xts-aes-qce'))\n";
  const error = 'FileNotFoundError: [Errno 2] No such file or directory';
  assert.equal(ids(`${bind}${error}\n`)[0], 'bind-enoent');
  assert.ok(!ids(`${bind}${error}: 'x.txt'\n`, 'Linux version 6.6.1').includes('bind-enoent'));
  assert.ok(!ids(`${error}\n`, 'Linux version 6.6.1').includes('bind-enoent'));
});
