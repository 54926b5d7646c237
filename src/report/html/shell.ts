/** What is around every page: head, style sheet, and the policy that forbids scripts and the network. Room `report`. */
import { createHash } from 'node:crypto';
import { type Html, html, raw, shorten } from './markup.js';
import { STYLE } from './style.js';

export function shell(title: string, body: Html): Html {
  const hash = createHash('sha256').update(STYLE, 'utf8').digest('base64');
  return html`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${raw(`default-src 'none'; style-src 'sha256-${hash}'; img-src data:; base-uri 'none'; form-action 'none'`)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="hwcrypt">
<title>${shorten(title, 200)}</title>
<link rel="icon" href="data:,">
<style>${raw(STYLE)}</style>
</head>
<body>
<a class="skip" href="#results">To the results</a>
${body}
</body>
</html>
`;
}
