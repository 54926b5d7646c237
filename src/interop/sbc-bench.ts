/**
 * sbc-bench logs (ThomasKaiser/sbc-bench): the openssl part is rows of `openssl speed -elapsed -evp`, twice for each algorithm, in order of
 * clusters or as a repetition, often without a header. Newer versions put the core's name behind each row: `… 1067248.30k (Cortex-A55)`.
 * The rows are `openssl.ts`'s; here is what surrounds them.
 */
import { redact } from './redact.js';

export interface SbcLine {
  readonly version?: string;
  readonly model?: string;
  readonly cluster?: string;
}

/** `sbc-bench v0.9.8 Khadas VIM (Fri, 23 Sep 2022 …)`, `Executing benchmark twice on cluster 0 (Cortex-A53)`. */
export function readSbcLine(text: string): SbcLine | undefined {
  const title = /^sbc-bench (v[\d.]{1,12})(?: ([^(]{0,100}?))? ?\((?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.exec(text);
  if (title) {
    const model = redact(title[2] ?? '', 80);
    return { version: title[1]!, ...(model !== '' ? { model } : {}) };
  }
  if (/^Executing benchmark (?:twice on cluster|on each cluster)/.test(text))
    return { cluster: redact(text, 80) };
  return undefined;
}

/** The core that stands behind a row's values. */
export function rowCpu(rest: string): string | undefined {
  const match = /^\(([^()]{1,60})\)$/.exec(rest.trim());
  return match ? redact(match[1]!, 60) : undefined;
}
