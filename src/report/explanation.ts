/** `enc --explain` as text. */
import type { Explanation } from '../enc/explain.js';
import { counted } from '../files/io.js';
import { table } from './table.js';
import { wrap } from './text.js';

const WIDTH = 80;

export function explanationText(found: Explanation): string {
  const facts: [string, string][] = [
    [
      'input',
      `${found.name}, ${counted(found.bytes, 'byte')}${found.encoding === 'base64' ? ' of base64' : ''}`,
    ],
    [
      'header',
      found.header
        ? `Salted__, salt ${found.salt} (8 bytes; more if written with -saltlen)`
        : 'none: written with -nosalt, -S or -K, or not by openssl enc',
    ],
    ['ciphertext', `${counted(found.ciphertextBytes, 'byte')}${blocks(found)}`],
  ];
  let text = facts.map(([name, value]) => `${name.padEnd(12)}${value}\n`).join('');
  text += '\nThe format records neither cipher nor key derivation. By its length it can be:\n';
  for (const line of found.ciphers) text += bullet(line);
  text += '\nThe key may have been derived with:\n';
  text += indent(
    table(
      [{ title: 'options' }, { title: 'written by' }],
      found.kdfs.map(({ options, writtenBy }) => [options, writtenBy]),
    ),
  );
  if (found.fits) text += fitsText(found);
  return text;
}

function blocks({ ciphertextBytes, blockBytes }: Explanation): string {
  if (ciphertextBytes === 0) return '';
  return blockBytes === 1
    ? ', not whole blocks'
    : `: ${counted(ciphertextBytes / blockBytes, 'block')} of ${blockBytes}`;
}

function fitsText({ fits = [] }: Explanation): string {
  if (fits.length === 0) return '\nThe passphrase fits with none of these.\n';
  const sure = fits.filter(({ certainty }) => certainty === 'sure');
  const shown = sure.length > 0 ? sure : fits;
  let text = `\nThe passphrase ${sure.length > 0 ? 'fits' : 'may fit'} with:\n`;
  text += indent(
    table(
      [{ title: 'cipher' }, { title: 'options' }, { title: 'because' }],
      shown.map((fit) => [
        `-${fit.cipher}`,
        fit.options,
        [
          fit.paddingBytes > 0 ? `right: ${counted(fit.paddingBytes, 'byte')} of padding` : '',
          fit.looksLike ? `it looks like ${fit.looksLike}` : '',
        ]
          .filter(Boolean)
          .join(', '),
      ]),
    ),
  );
  const left = fits.length - shown.length;
  if (sure.length === 0) text += bullet('one byte of padding is right by chance once in 256 tries');
  else if (left > 0) text += bullet(`${left} more by a byte or two of padding, which chance explains`);
  return text;
}

function bullet(line: string): string {
  return wrap(line, WIDTH - 4)
    .map((part, i) => `${i === 0 ? '  - ' : '    '}${part}\n`)
    .join('');
}

function indent(text: string): string {
  return text.replace(/^(?=.)/gm, '  ');
}
