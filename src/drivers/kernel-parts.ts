/**
 * What a name of the kernel's crypto API is made of, and which part of it this kernel lacks: for whichever driver asked for it
 * and was refused. Pure: facts go in, a reason comes out.
 *
 * Sources: crypto/api.c and the templates in crypto/*.c of Linux; modprobe.d(5).
 */
import type { Reason, ReasonCode } from '../errors.js';
import { type ModuleRule, moduleName, providers, rulesFor } from '../linux/index.js';
import type { KernelFacts } from './kernel-facts.js';

/** Makes the reason of one failed call. */
export type MakeReason = (code: ReasonCode, message: string, cure?: string) => Reason;

/** The cure of everything that only the kernel cannot do. */
export const ELSEWHERE = 'use the libcrypto driver';

type PartFacts = Pick<KernelFacts, 'algorithms' | 'index' | 'loaded' | 'rules'>;

/** The names inside a name, outermost first: `gcm(aes)` → gcm, aes. */
export function components(name: string): string[] {
  return name.split(/[(),]+/).filter((piece) => piece !== '');
}

/** What a template needs besides what is in its brackets. */
const NEEDS: Readonly<Record<string, readonly string[]>> = {
  gcm: ['ctr', 'ghash'],
  ccm: ['ctr', 'cbcmac'],
  xts: ['ecb'],
  lrw: ['ecb'],
  rfc7539: [],
};

type Part =
  | { readonly state: 'there' | 'unknown' }
  | { readonly state: 'blocked'; readonly module: string; readonly rule: ModuleRule }
  | { readonly state: 'unloaded' | 'absent'; readonly modules: readonly string[] };

function partState(piece: string, facts: PartFacts): Part {
  const seen = facts.algorithms.algorithms.some(
    (entry) => entry.name === piece || entry.name.startsWith(`${piece}(`),
  );
  if (seen) return { state: 'there' };
  const modules = providers(facts.index, `crypto-${piece}`);
  if (modules.some((module) => facts.loaded?.has(module) || facts.index.builtin.has(module)))
    return { state: 'there' };
  if (!facts.index.known) return { state: 'unknown' };
  const blocked = modules.map((module) => ({ module, rule: rulesFor(facts.rules, module)[0] }));
  // Asked for by alias, so every kind of rule counts; one provider that nobody blocks is enough.
  const first = blocked.find((it) => it.rule);
  if (first?.rule && blocked.every((it) => it.rule))
    return { state: 'blocked', module: first.module, rule: first.rule };
  if (modules.length > 0) return { state: 'unloaded', modules };
  // A template has no line in /proc/crypto, and a built-in one no alias on kernels before 5.2: its module name may tell.
  if (facts.index.builtin.has(moduleName(piece))) return { state: 'there' };
  return { state: 'absent', modules: [] };
}

/** Does the kernel certainly lack this plain name (`aes`, `sha256`), registered or in a module that it could load? */
export function certainlyAbsent(piece: string, facts: PartFacts): boolean {
  return (
    facts.index.complete && facts.algorithms.source !== 'none' && partState(piece, facts).state === 'absent'
  );
}

/** Why a name cannot be put together here; undefined where every part is there or nobody can tell. */
export function missingPart(algorithm: string, facts: PartFacts, reason: MakeReason): Reason | undefined {
  const pieces = components(algorithm);
  const outer = algorithm.includes('(') ? pieces[0] : undefined;
  const all = [...pieces, ...(outer === undefined ? [] : (NEEDS[outer] ?? []))];
  const states = all.map((piece) => ({ piece, part: partState(piece, facts) }));
  for (const { part } of states) {
    if (part.state !== 'blocked') continue;
    return reason(
      'MODULE_BLACKLISTED',
      `${algorithm} needs the module ${part.module}, which \`${part.rule.line}\` in ${part.rule.file} keeps out`,
      `remove the rule, if whoever wrote it agrees; else ${ELSEWHERE}`,
    );
  }
  // What was never built cannot be cured by loading the rest.
  for (const wanted of ['absent', 'unloaded'] as const) {
    for (const { piece, part } of states) {
      if (part.state !== wanted) continue;
      const template = isTemplate(piece, algorithm) || NEEDS[outer ?? '']?.includes(piece) === true;
      const code = template ? 'TEMPLATE_MISSING' : 'ALGORITHM_NOT_BUILT';
      if (part.state === 'unloaded') {
        return reason(
          code,
          `${algorithm} needs the module ${part.modules.join(' or ')}, which is there but was not loaded`,
          `modprobe ${part.modules[0]} (a container cannot load it: do so on the host)`,
        );
      }
      const needed = template ? `, which ${algorithm} needs` : '';
      return reason(code, `this kernel was built without ${piece}${needed}`, notBuiltCure(piece));
    }
  }
  return undefined;
}

function isTemplate(piece: string, algorithm: string): boolean {
  return algorithm.includes(`${piece}(`);
}

export function notBuiltCure(piece: string): string {
  const config = components(piece)[0]?.toUpperCase().replaceAll('-', '_');
  return `${ELSEWHERE}; \`modprobe crypto-${piece}\` would load it where it is a module (CONFIG_CRYPTO_${config} or similar)`;
}

/** Key lengths in bytes that registered implementations of a name take; empty where none says. */
export function keyRanges(
  {
    algorithm,
    pinned,
    type,
  }: { readonly algorithm: string; readonly pinned?: string | undefined; readonly type: string },
  facts: Pick<KernelFacts, 'algorithms'>,
): (readonly [number, number])[] {
  const list = facts.algorithms.algorithms;
  const own = list.filter(
    (entry) =>
      (pinned === undefined ? entry.name === algorithm : entry.driver === pinned) &&
      entry.maxKeyBytes !== undefined,
  );
  // CMAC and AEADs name no key sizes; their cipher does.
  const inner = components(algorithm)[1];
  const from =
    own.length > 0 || type === 'skcipher'
      ? own
      : list.filter((entry) => entry.name === inner && entry.type === 'cipher');
  const seen = new Map<string, readonly [number, number]>();
  for (const { minKeyBytes, maxKeyBytes } of from) {
    if (minKeyBytes !== undefined && maxKeyBytes !== undefined && maxKeyBytes > 0) {
      seen.set(`${minKeyBytes}-${maxKeyBytes}`, [minKeyBytes, maxKeyBytes]);
    }
  }
  return [...seen.values()];
}
