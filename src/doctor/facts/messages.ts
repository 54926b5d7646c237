/** Error messages that people paste, by what they mean. What the same words mean here and there is for the rules. */
import { redact } from '../../interop/redact.js';
import type { Document, Quote } from './document.js';

export type MessageCode =
  /** socket(AF_ALG): EAFNOSUPPORT. */
  | 'NO_FAMILY'
  /** socket(AF_ALG): EPERM, EACCES. */
  | 'SOCKET_DENIED'
  /** bind: ENOENT. */
  | 'BIND_ENOENT'
  /** cryptsetup: Required kernel crypto interface not available. */
  | 'NO_KERNEL_INTERFACE'
  /** cryptsetup: Userspace crypto wrapper cannot use … */
  | 'NO_WRAPPER'
  /** cryptsetup benchmark -c: Cipher … is not available. */
  | 'CIPHER_NOT_AVAILABLE'
  /** libkcapi needs crypto_user. */
  | 'NO_NETLINK'
  /** Device size is not aligned to requested sector size. */
  | 'SECTOR_MISALIGNED'
  /** Not enough available memory to open a keyslot. */
  | 'KEYSLOT_MEMORY'
  | 'CIOCCRYPT_EINVAL'
  | 'CIOCGSESSION_FAILED'
  /** kcapi-speed: could not allocate … handle for … */
  | 'KCAPI_NO_DRIVER'
  /** Two outputs differ from byte 65537 on. */
  | 'DIFFER_AT_64K'
  | 'SETKEY_EBUSY'
  | 'SETKEY_EINVAL'
  /** bind: EINVAL. */
  | 'BIND_EINVAL'
  /** dm-crypt: the kernel cannot put the cipher together. */
  | 'DM_CIPHER'
  /** No target crypt, or no device mapper at all. */
  | 'DM_TARGET'
  /** opkg, apk: the package is for another kernel. */
  | 'OTHER_KERNEL'
  /** modprobe, insmod: no such module. */
  | 'MODULE_ABSENT'
  /** modprobe, insmod: the module is there and its start failed. */
  | 'MODULE_REFUSED'
  /** dmsetup's ioctl was refused; the log says why. */
  | 'DM_RELOAD'
  /** dm-crypt does not know an option of the table. */
  | 'DM_OPTION'
  /** `bad decrypt` of openssl enc. */
  | 'BAD_DECRYPT'
  /** Somebody tells of wrong or lost data. */
  | 'WRONG_DATA'
  /** An accelerator in use is told of: an engine set, cryptodev, a driver's name. */
  | 'IN_USE'
  /** AF_ALG: EOPNOTSUPP. */
  | 'ALG_UNSUPPORTED'
  /** AF_ALG: a request is refused with EINVAL. */
  | 'ALG_SEND_EINVAL'
  /** The network card's own IPsec offload. */
  | 'NIC_OFFLOAD'
  /** A secure element, a TPM: keys and signatures, no bulk encryption. */
  | 'KEY_CHIP';

export interface Message {
  readonly code: MessageCode;
  /** What it names: a cipher, a driver, a number. */
  readonly subject?: string;
  /** Somebody pasted it, so it is what he asks about; what the probe provoked is not. */
  readonly asked: boolean;
  readonly quote: Quote;
}

const MESSAGES: readonly (readonly [MessageCode, RegExp])[] = [
  // The module's name is not translated, the sentence is.
  [
    'NO_KERNEL_INTERFACE',
    /Required kernel crypto interface not available|(?:^|: {1,12})CONFIG_CRYPTO_USER_API_(?:HASH|SKCIPHER)$|algif_skcipher\S{0,3} (?:kernel module loaded|geladen ist)|Kernelmodul .{0,3}algif_skcipher/,
  ],
  ['NO_WRAPPER', /Userspace crypto wrapper cannot use (\S{1,60})/],
  ['CIPHER_NOT_AVAILABLE', /^Cipher (\S{1,60}) \(with \d{1,4} bits key\) is not available/],
  [
    'NO_NETLINK',
    /NETLINK_CRYPTO: cannot obtain cipher information|Netlink error: cannot open netlink socket/,
  ],
  [
    'SECTOR_MISALIGNED',
    /Device size is not aligned to requested sector size|crypt: Device size is not multiple of sector_size|(?:size|offset) is not (?:a )?multiple of (?:the )?(?:encryption )?sector/i,
  ],
  [
    'KEYSLOT_MEMORY',
    /Not enough available memory to open a keyslot|Command failed with code -3 \(out of memory\)/,
  ],
  [
    'DM_CIPHER',
    /\bcrypt: Error allocating crypto tfm|Check that (?:the )?kernel supports (\S{1,60}) cipher|Failed to setup dm-crypt key mapping/,
  ],
  [
    'DM_TARGET',
    // Whoever may not open it cannot tell whether it is there.
    /\bcrypt: unknown target type|Cannot initialize device-mapper\b(?!.*(?:non-root|root user))|\/dev\/mapper\/control: open failed(?!.*(?:Permission denied|Operation not permitted))|Is dm_mod kernel module loaded/,
  ],
  ['DM_OPTION', /\bcrypt: Invalid feature arguments|\bcrypt: Invalid number of feature args/],
  [
    'DM_RELOAD',
    /\bdevice-mapper: (?:reload|create|table) ioctl\b.{0,80}\bfailed: (?:Invalid argument|No such file)/,
  ],
  ['BAD_DECRYPT', /^bad decrypt$|\bbad decrypt:|EVP_DecryptFinal_ex:bad decrypt|\berror:.{0,60}:bad decrypt/],
  [
    'WRONG_DATA',
    /(?<!\b(?:no|without|any|never) (?:\w{1,12} )?)(?:\bgarbage\b|\bdata (?:integrity|corruption)\b|\bcorrupt(?:ed|s|ion)\b|\bwrong (?:ciphertext|results?|output)\b|\bsilently drops\b|\bnot (?:encrypted|decrypted)(?:\/decrypted)? correctly)/i,
  ],
  [
    'IN_USE',
    /\bengine ["“]?(?:padlock|devcrypto|cryptodev|afalg|qat\w*)["”]? set\b|\b(?:cryptodev|devcrypto|crypto[-_]safexcel|marvell[-_]cesa|sa2ul|omap[-_]aes|rk_crypto|qcrypto|caam_jr|eip93)\b|\bengine padlock\b/i,
  ],
  [
    'ALG_SEND_EINVAL',
    /\bsendmsg\b.{0,30}\b\w{2,12}\(\w{2,12}\) failed.{0,12}(?:errno[=: ]{0,3}22\b|EINVAL|Invalid argument)/,
  ],
  ['ALG_UNSUPPORTED', /\baf[-_]alg\b.{0,80}(?:errno[=: ]{0,3}95\b|Operation not supported|EOPNOTSUPP)/i],
  [
    'OTHER_KERNEL',
    /^\*?\s{0,4}kernel \(= ?\S{3,60}\)|\bpkg_hash_check_unresolved: .{0,60}kernel \(=|incompatible with the architectures|masked in: .{0,40}kernel=/,
  ],
  [
    'MODULE_REFUSED',
    /\bError inserting ([\w./-]{2,80}?) \([\w./+-]{1,160}\): (?!No such file)|\bcould not insert (?:module )?['"‘]?([\w./-]{2,80}?)(?:\.ko\S{0,4})?['"’]?:|\b(?:modprobe|insmod): (?:can't (?:load|insert)(?: module)?|ERROR:.{0,20}insert) ['"]?([\w./-]{2,80}?)(?:\.ko)?['"]?(?: \([\w./-]{1,120}\))?: (?!No such file)|\binsmod: can't insert ['"]?([\w./-]{2,80}?)(?:\.ko)?['"]?: (?!No such file)/,
  ],
  [
    'MODULE_ABSENT',
    /\bModule ([\w-]{2,60}) not found|\bmodprobe: (?:module |can't load module )['"]?([\w-]{2,60})['"]?(?: not found|.{0,120}No such file)|\bfailed to find a module named ([\w-]{2,60})/,
  ],
  [
    'NIC_OFFLOAD',
    /\bHW offload is not supported by device\b|^(?:tx-)?esp-(?:hw-offload|tx-csum-hw-offload): (?:on|off)|\bnic-offload\s{0,2}=|^hw_offload\s{0,2}=/,
  ],
  [
    'KEY_CHIP',
    /\b(?:ATECC\d{3}\w?|ATSHA204\w?|SE05[01]\w?|OPTIGA\w?|tpm_tis|tpm_crb|TPM 2\.0|SLB ?96\d\d|STSAFE\w{0,6}|DS28\w{4,6})\b/i,
  ],
  [
    'BIND_EINVAL',
    /\b(?:af[-_]alg|AF_ALG)\b.{0,60}\bbind failed.{0,40}(?:errno[=: ]{0,3}-?22\b|Invalid argument)/i,
  ],
  ['CIOCCRYPT_EINVAL', /CIOC(?:AUTH)?CRYPT\)?\W{1,4}(?:Invalid argument|EINVAL)/],
  [
    'CIOCGSESSION_FAILED',
    /^(?:ioctl\()?CIOCGSESSION\)?\W{1,4}(?:Invalid argument|No such file|EINVAL|ENOENT)/,
  ],
  ['KCAPI_NO_DRIVER', /could not allocate \S{1,20} handle for (\S{1,80})/],
  [
    'DIFFER_AT_64K',
    /differ: (?:byte|char) 65537\b|difference at (?:offset )?0x10000\b|(?:at|offset) (?:0x10000|65536)\b.{0,60}(?:wrong|differ)/i,
  ],
  ['SETKEY_EBUSY', /(?:ALG_SET_KEY|setkey|setsockopt).{0,60}(?:EBUSY|Device or resource busy)/i],
  ['SETKEY_EINVAL', /(?:ALG_SET_KEY|setkey).{0,60}(?:EINVAL|Invalid argument|-22\b)/i],
  [
    'BIND_ENOENT',
    /\bbind\b.{0,160}(?:No such file or directory|ENOENT|errno[=:]? ?-?2\b)|\bkcapi_\w{2,12}_init\b.{0,80}(?:ENOENT|-2\b)|AF_ALG: bind failed \(errno: -2\)/i,
  ],
  // Python puts the call on another line; where a file is meant, its name follows.
  ['BIND_ENOENT', /^FileNotFoundError: \[Errno 2\] No such file or directory$/],
  ['NO_FAMILY', /Address family not supported by protocol|EAFNOSUPPORT|\[Errno 97\]/i],
  [
    'SOCKET_DENIED',
    /(?:AF_ALG|socket\(38|\bALG_\w+|\bsocket\b).{0,60}(?:Operation not permitted|Permission denied|EPERM|EACCES)/,
  ],
];

/** Sockets of other families fail in the same words. */
const OTHER_SOCKETS =
  /AF_VSOCK|AF_INET6?|IPv6|\binet6\b|\bvsock\b|\bdocker:|\bOCI runtime\b|\bbluetooth|AF_XDP|\[::|AF_NETLINK|\bAF_CAN\b/i;
const OUR_SOCKETS = /\bAF_ALG\b|\balgif|\bkcapi|\bafalg\b|socket\(38\b|\bcryptsetup\b|\bALG_\w/i;

export function readMessages(document: Document): Message[] {
  const out: Message[] = [];
  const alien =
    document.lines.some(({ text }) => OTHER_SOCKETS.test(text)) &&
    !document.lines.some(({ text }) => OUR_SOCKETS.test(text));
  const binds = document.lines.some(({ text }) => /\.bind\(\(['"](?:skcipher|aead|hash|rng)['"]/.test(text));
  const seen = new Set<string>();
  for (const line of document.lines) {
    if (line.text.length > 500) continue;
    for (const [code, pattern] of MESSAGES) {
      const match = pattern.exec(line.text);
      if (!match) continue;
      if (match[0].startsWith('FileNotFoundError') && !binds) continue;
      if (alien && (code === 'NO_FAMILY' || code === 'SOCKET_DENIED')) continue;
      const subject = match.slice(1).find((group) => group !== undefined);
      const key = `${code} ${subject ?? ''}`;
      // Of the same message the first is enough; a paste may hold thousands.
      if (!seen.has(key) && out.length < 200)
        out.push({
          code,
          ...(subject === undefined ? {} : { subject: redact(subject, 80) }),
          asked: line.section === undefined,
          quote: document.quote(line),
        });
      seen.add(key);
      // A line that names an engine may say more.
      if (code === 'WRONG_DATA' || code === 'IN_USE') continue;
      break;
    }
  }
  return out;
}
