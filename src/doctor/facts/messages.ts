/** Error messages that people paste, by what they mean. What the same words mean here and there is for the rules. */
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
  | 'SETKEY_EINVAL';

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
    /Required kernel crypto interface not available|algif_skcipher\S{0,3} (?:kernel module loaded|geladen ist)|Kernelmodul .{0,3}algif_skcipher/,
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
  ['KEYSLOT_MEMORY', /Not enough available memory to open a keyslot/],
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
    /\bbind\b.{0,60}(?:No such file or directory|ENOENT|errno:? -?2\b)|AF_ALG: bind failed \(errno: -2\)/i,
  ],
  ['NO_FAMILY', /Address family not supported by protocol|EAFNOSUPPORT|\[Errno 97\]/i],
  [
    'SOCKET_DENIED',
    /(?:AF_ALG|socket\(38|\bALG_\w+|\bsocket\b).{0,60}(?:Operation not permitted|Permission denied|EPERM|EACCES)/,
  ],
];

export function readMessages(document: Document): Message[] {
  const out: Message[] = [];
  const seen = new Set<string>();
  for (const line of document.lines) {
    if (line.text.length > 500) continue;
    for (const [code, pattern] of MESSAGES) {
      const match = pattern.exec(line.text);
      if (!match) continue;
      const subject = match[1];
      const key = `${code} ${subject ?? ''}`;
      // Of the same message the first is enough; a paste may hold thousands.
      if (!seen.has(key) && out.length < 200)
        out.push({
          code,
          ...(subject === undefined ? {} : { subject }),
          asked: line.section === undefined,
          quote: document.quote(line),
        });
      seen.add(key);
      break;
    }
  }
  return out;
}
