/** Kernel modules: which are loaded, which are there to be loaded, and what keeps one out. */
import {
  type ModuleRule,
  moduleName,
  parseCommandLine,
  parseModprobe,
  parseModules,
} from '../../linux/proc.js';
import { ENGINES } from '../engines.js';
import type { Document, Quote } from './document.js';

export interface QuotedRule extends ModuleRule {
  readonly quote: Quote;
}

export interface Modules {
  /** Name, with `_`, and where it is listed. */
  readonly loaded: ReadonlyMap<string, Quote>;
  /** The whole of /proc/modules or lsmod is there: what is not in it is not loaded (or built in). */
  readonly complete: boolean;
  /** Module files that are installed. */
  readonly files: ReadonlyMap<string, Quote>;
  /** Built into the kernel, by modules.builtin or the configuration. */
  readonly builtin: ReadonlyMap<string, Quote>;
  readonly rules: readonly QuotedRule[];
  /** Drivers of engines that somebody loaded by hand: what he measures after that is to show what they bring. */
  readonly wanted: ReadonlyMap<string, Quote>;
  /** CONFIG_… lines: `y`, `m`, or `n` for `is not set`. */
  readonly config: ReadonlyMap<string, { readonly value: string; readonly quote: Quote }>;
}

/** `modprobe.d/x.conf:install …`, as the probe and grep write it. */
const RULE =
  /^(?:(\S{1,200}\.conf|kernel command line):\s{0,4}(?:\d{1,6}:)?\s{0,4})?((?:install|blacklist)\s+[\w*?-]{2,60}\b.{0,200})$/;

export function readModules(document: Document): Modules {
  const loaded = new Map<string, Quote>();
  const files = new Map<string, Quote>();
  const builtin = new Map<string, Quote>();
  const config = new Map<string, { value: string; quote: Quote }>();
  const rules: QuotedRule[] = [];
  const wanted = new Map<string, Quote>();
  let listing = false;
  let complete = false;
  for (const line of document.lines) {
    const { text, section } = line;
    const quote = (): Quote => document.quote(line);
    if (section === undefined || section === 'modules') {
      const [module] = parseModules(text);
      if (module) {
        if (!loaded.has(module.name)) loaded.set(module.name, quote());
        complete ||= section === 'modules' && !document.isCut('modules');
      } else if (/^Module\s+Size\s+Used by\b/.test(text)) [listing, complete] = [true, true];
      else if (listing) {
        const listed = /^([a-z][\w-]{0,60})\s+\d{1,10}\s+-?\d{1,6}(?:\s+\S.{0,300})?$/i.exec(text)?.[1];
        if (listed === undefined) listing = false;
        else if (!loaded.has(moduleName(listed))) loaded.set(moduleName(listed), quote());
      }
    }
    if (section === 'module-files' || section === 'modules-builtin') {
      const name = /([\w-]{1,60})\.ko(?:\.(?:gz|xz|zst))?$/.exec(text)?.[1];
      const into = section === 'module-files' ? files : builtin;
      if (name !== undefined && !into.has(moduleName(name))) into.set(moduleName(name), quote());
    }
    const tried =
      section === undefined
        ? /(?:^|[#$]\s)(?:sudo )?modprobe (?:-v )?([a-z][\w-]{2,40})$/.exec(text)?.[1]
        : undefined;
    if (
      tried !== undefined &&
      ENGINES.some(({ modules }) => modules.some((module) => moduleName(module) === moduleName(tried)))
    )
      wanted.set(moduleName(tried), quote());
    if (section === undefined || section === 'modprobe') {
      const rule = RULE.exec(text);
      if (rule) {
        const [found] = parseModprobe(rule[2]!, rule[1] ?? document.name);
        if (found) rules.push({ ...found, quote: quote() });
      }
    }
    if ((section === undefined || section === 'cmdline') && /_?blacklist=/.test(text))
      for (const found of parseCommandLine(text)) rules.push({ ...found, quote: quote() });
    if (section === undefined || section === 'config') {
      // In a patch the new value counts.
      const set = /^\+?(CONFIG_[A-Z0-9_]{2,80})=([ynm]|"[^"]{0,80}"|\d{1,12})$/.exec(text);
      const unset = set ? undefined : /^\+?# (CONFIG_[A-Z0-9_]{2,80}) is not set$/.exec(text);
      const name = set?.[1] ?? unset?.[1];
      if (name !== undefined && !config.has(name))
        config.set(name, { value: set?.[2] ?? 'n', quote: quote() });
    }
  }
  return { loaded, complete, files, builtin, rules, wanted, config };
}

export function mergeModules(all: readonly Modules[]): Modules {
  const join = <V>(pick: (modules: Modules) => ReadonlyMap<string, V>): Map<string, V> =>
    new Map(all.toReversed().flatMap((modules) => [...pick(modules)]));
  const rules = new Map(
    all.flatMap((modules) => modules.rules.map((rule) => [`${rule.kind} ${rule.module} ${rule.file}`, rule])),
  );
  return {
    loaded: join(({ loaded }) => loaded),
    complete: all.some(({ complete }) => complete),
    files: join(({ files }) => files),
    builtin: join(({ builtin }) => builtin),
    rules: [...rules.values()],
    wanted: join(({ wanted }) => wanted),
    config: join(({ config }) => config),
  };
}
