/**
 * Keys, names and paths are no part of a result. People paste whole terminals: volume keys, UUIDs, salts and passphrases stand between
 * their tables. Whatever text of theirs is carried on goes through here.
 */
import { printable } from './text.js';

const GONE = '[redacted]';

/** Each pattern is bounded, so that none can take more than linear time. */
const SECRETS: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b/g, '[uuid]'],
  // A key or a salt as one word, or as pairs with blanks or colons between (a MAC address is six pairs).
  [/(?<![0-9a-zA-Z])(?:0x)?[0-9a-fA-F]{24,}(?![0-9a-zA-Z])/g, GONE],
  [/(?<![0-9a-zA-Z])[0-9a-fA-F]{2}(?:[: -][0-9a-fA-F]{2}){5,}(?![0-9a-zA-Z])/g, GONE],
  // Base64 with both cases and a digit in it: a compiler's flags and a path have no such runs.
  [
    /(?<![\w+/=.-])(?=[A-Za-z+/]{0,400}[0-9])(?=[a-z0-9+/]{0,400}[A-Z])[A-Za-z0-9+/]{40,400}={0,2}(?![\w+/=])/g,
    GONE,
  ],
  // What `openssl enc -p` prints, and the like: a name, and what must not be shown.
  [/(\b(?:key|salt|iv|master|volume[- ]key)\s{0,4}[:=]\s{0,4})[0-9A-Za-z+/=]{8,400}/gi, `$1${GONE}`],
  [/(\bpass:)\S{1,200}/gi, `$1${GONE}`],
  [/((?:^|\s)(?:-k|-K|-iv|-S|-pass|-passin|--key|--password|-p)\s+)(?!\[)\S{1,200}/g, `$1${GONE}`],
  [/((?:password|passphrase|passwort|secret|token|api[_-]?key)\s{0,4}[:=]\s{0,4})\S{1,200}/gi, `$1${GONE}`],
  // A prompt: `router:/home/root # `, `root@host:~# `, `[root@host ~]# `.
  [/^\[?[\w.@-]{1,64}[: ]?[~/][\w./~-]{0,120}\]? ?[#$%](?= |$)/, ''],
  // Mail addresses, user@host.
  [/[\w.+-]{1,64}@[\w.-]{1,64}(?::[~/]?[\w./~-]{0,120})?/g, GONE],
  [/\b\d{1,3}(?:\.\d{1,3}){3}\b/g, '[address]'],
  // IPv6, four groups or with `::`; a switch's way to write a MAC address.
  [/(?<![\w:.])(?:[0-9a-f]{1,4}:){4,7}[0-9a-f]{1,4}(?![\w:])/gi, '[address]'],
  [/(?<![\w:.])(?:[0-9a-f]{1,4}:){1,6}(?::[0-9a-f]{1,4}){1,6}(?![\w:])/gi, '[address]'],
  [/(?<![\w.])[0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4}(?![\w.])/gi, GONE],
  // U-Boot's environment, dmidecode, lsusb, smartctl, hdparm.
  [
    /(\b(?:serial(?:_?(?:no|num|number))?|serial number|asset tag|machine[-_ ]?id|host(?:name)?|nodename)#?\s{0,4}[:=]\s{0,4})\S{1,80}/gi,
    `$1${GONE}`,
  ],
  [/(\/(?:home|Users|root)\/)[^\s/:]{1,64}/g, `$1${GONE}`],
  // What the kernel's log has of the owner's names, as the probe takes it out.
  [/(\/(?:by-[a-z]{2,12}|dev\/mapper|mnt|media)\/)(?!\[|control\b)[^\s;"'\]]{1,200}/g, `$1${GONE}`],
  [/(device-mapper: crypt: )(?!dm-\d)[^\s(:[]{1,128}(?=: )/g, `$1${GONE}`],
  [/(\bCryptography Setup for )\S.{0,128}/gi, `$1${GONE}`],
  [/(\bSSID[\s:=]{1,4})(?:"[^"]{0,64}"|'[^']{0,64}'|(?!\[)\S{1,64})/gi, `$1${GONE}`],
  [/(\b(?:user(?:name)?|login|label|key|psk|pin)=)(?!\[)(?:"[^"]{0,64}"|[^\s,;]{1,200})/gi, `$1${GONE}`],
  [/(\bpsk\s{0,4}:\s{0,4})(?!\[)\S{1,200}/gi, `$1${GONE}`],
  [/(?<![0-9a-z])[0-9a-f]{2}(?:\.[0-9a-f]{2}){5}(?![0-9a-z])/gi, GONE],
  [/(\bserial(?:[ _-]n(?:o|um|umber)?)?\s{1,4}(?:is\s{1,4})?)(?=[A-Za-z]{0,40}\d)[\w-]{1,80}/gi, `$1${GONE}`],
  [/(\b(?:S\/N|SN)[:=#]\s{0,4})[^\s,;[]{1,80}/g, `$1${GONE}`],
];

/** One line of other people's text, fit to be kept: printable, without secrets, no longer than `limit` characters. */
export function redact(text: string, limit = 160): string {
  // Most of what comes here is an algorithm's name.
  if (text.length < 24 && /^[A-Za-z][\w()-]*$/.test(text)) return text;
  // What is cut off need not be searched; a little more, so that a key is not cut to a length at which it is no longer known as one.
  let out = printable(text.slice(0, limit * 2 + 256))
    .trim()
    .replace(/ {2,}/g, ' ');
  for (const [pattern, by] of SECRETS) out = out.replace(pattern, by);
  out = out.trim();
  if (out.length <= limit) return out;
  // Not in the middle of a surrogate pair.
  const end = /[\ud800-\udbff]/.test(out[limit - 2]!) ? limit - 2 : limit - 1;
  return `${out.slice(0, end)}…`;
}

/** A file's name without its folders. */
export function baseName(path: string): string {
  const name = path.split(/[\\/]/).findLast((part) => part !== '');
  return redact(name ?? '', 120) || '-';
}
