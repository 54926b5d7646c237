/** The engine lacks the mode. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bundle, diagnosed, EIP93, finding, GENERIC, ids, procCrypto } from '../helpers.js';

const TABLE = '0 7501344768 crypt aes-xts-plain64 :64:logon:[removed] 0 8:1 32768';

test('LUKS wants XTS and the engine has none: the verdict of the issue', () => {
  const found = diagnosed(procCrypto(...GENERIC, ...EIP93), TABLE);
  assert.equal(
    found.verdict,
    'Your EIP93 is present and loaded, but dm-crypt does not use it: xts is not among its modes (ecb, cbc and ctr)',
  );
  assert.match(
    found.findings[0]!.details.join(' '),
    /xts\(aes\) is done by xts\(aes-generic\), portable C code/,
  );
  assert.match(found.findings[0]!.steps[0]!.commands[0]!, /aes-cbc-essiv:sha256.*--sector-size 4096/);
  assert.ok(
    !ids(procCrypto(...GENERIC, ...EIP93), TABLE.replace('xts-plain64', 'cbc-essiv:sha256')).includes(
      'mode-lacking',
    ),
  );
});

test('the same from a header, and from a benchmark’s rows', () => {
  const header =
    'LUKS header information\nVersion:       \t2\n\nData segments:\n  0: crypt\n\tcipher: aes-xts-plain64\n\tsector: 4096 [bytes]\n';
  assert.match(finding('mode-lacking', procCrypto(...EIP93), header).verdict, /but LUKS does not use it/);
  const benchmark =
    '# Tests are approximate using memory only (no storage IO).\n#     Algorithm |       Key |      Encryption |      Decryption\n        aes-cbc        256b        31.0 MiB/s        31.2 MiB/s\n        aes-xts        256b        12.0 MiB/s        12.1 MiB/s\n';
  assert.match(
    finding('mode-lacking', procCrypto(...EIP93), benchmark).verdict,
    /but aes-xts does not use it/,
  );
  assert.match(finding('benchmark-suggests-engine', benchmark).verdict, /2\.6x as fast/);
});

test('GCM from a grep of the listing, in which names are missing', () => {
  const grep =
    'driver       : ctr(aes-eip93)\nmodule       : crypto_hw_eip93\ndriver       : cbc(aes-eip93)\nmodule       : crypto_hw_eip93\ndriver       : authenc(hmac(sha1-eip93), cbc(aes-eip93))\nmodule       : crypto_hw_eip93\n';
  const found = diagnosed(grep);
  assert.match(
    found.verdict,
    /^Your EIP93 does cbc and ctr of AES, and neither xts nor gcm: TLS and VPNs with AES-GCM and disks with aes-xts stay in software$/,
  );
  assert.equal(found.findings[0]!.sureness, 'likely');
});

test('XTS around an engine’s ECB is partly accelerated, and not lacking', () => {
  const caam = procCrypto(
    { name: 'cbc(aes)', driver: 'cbc-aes-caam', priority: 3000, async: true },
    { name: 'xts(aes)', driver: 'xts(ecb-aes-caam)', priority: 3000, async: true },
  );
  assert.ok(!ids(caam, TABLE).includes('mode-lacking'));
  assert.equal(finding('mode-partly', caam, TABLE).kind, 'fine');
  assert.equal(diagnosed(bundle({ crypto: caam })).findings[0]!.id, 'modes-of-engine');
});
