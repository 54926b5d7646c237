/** Facts, put together from all texts. Everything knows where it stands; nothing here is an opinion. */

import { readUserWays, type UserWays } from './afalg.js';
import { type KernelList, mergeLists, readAlgorithms } from './algorithms.js';
import { type Devices, readDevices } from './devices.js';
import { type Disks, readDisks } from './disks.js';
import { Document, type Quote, type Source } from './document.js';
import { type Machine, readMachine } from './machine.js';
import { type Message, readMessages } from './messages.js';
import { type Modules, mergeModules, readModules } from './modules.js';
import { type Openssl, readOpenssl } from './openssl.js';
import { gatherResults, type Results, readResults } from './results.js';
import { readSecrets, type Secret } from './secrets.js';
import { readVpn, type VpnUse } from './vpn.js';

export interface Facts {
  readonly sources: readonly {
    readonly name: string;
    readonly bundle: Document['bundle'];
    readonly lines: number;
    readonly cut: boolean;
  }[];
  readonly machine: Machine;
  readonly kernel: KernelList;
  readonly modules: Modules;
  readonly devices: Devices;
  readonly ways: UserWays;
  readonly openssl: Openssl;
  readonly disks: Disks;
  readonly messages: readonly Message[];
  readonly results: Results;
  readonly vpn: readonly VpnUse[];
  /** Private keys, besides those of volumes. */
  readonly secrets: readonly Secret[];
  /** Lines in the texts that say what is read here; none where nothing was understood. */
  readonly understood: boolean;
}

/** What one text says, before it is put together with the others'. */
export type TextFacts = ReturnType<typeof readText>;

export function readText(source: Source) {
  const document = new Document(source);
  return {
    document,
    machine: readMachine(document),
    kernel: readAlgorithms(document),
    modules: readModules(document),
    devices: readDevices(document),
    ways: readUserWays(document),
    openssl: readOpenssl(document),
    disks: readDisks(document),
    messages: readMessages(document),
    results: readResults(document),
    vpn: readVpn(document),
    secrets: readSecrets(document),
  };
}

export const gatherFacts = (sources: readonly Source[]): Facts => joinFacts(sources.map(readText));

export function joinFacts(read: readonly TextFacts[]): Facts {
  const first = <T extends object>(parts: readonly T[]): T => Object.assign({}, ...parts.toReversed()) as T;
  const facts = {
    sources: read.map(({ document }) => ({
      name: document.name,
      bundle: document.bundle,
      lines: document.lines.length,
      cut: document.cut,
    })),
    machine: first(read.map(({ machine }) => machine)),
    kernel: mergeLists(read.map(({ kernel }) => kernel)),
    modules: mergeModules(read.map(({ modules }) => modules)),
    devices: mergeDevices(read.map(({ devices }) => devices)),
    ways: first(read.map(({ ways }) => ways)),
    openssl: mergeOpenssl(read.map(({ openssl }) => openssl)),
    disks: {
      ...first(read.map(({ disks }) => disks)),
      tables: distinct(read.flatMap(({ disks }) => disks.tables)),
      headers: distinct(read.flatMap(({ disks }) => disks.headers)),
      block: distinct(read.flatMap(({ disks }) => disks.block)),
    },
    messages: read.flatMap(({ messages }) => messages),
    results: gatherResults(read.flatMap(({ results }) => results)),
    vpn: read.flatMap(({ vpn }) => vpn),
    secrets: read.flatMap(({ secrets }) => secrets),
  };
  return { ...facts, understood: isAnything(facts) };
}

type Gathered = Omit<Facts, 'understood'>;

function isAnything({
  machine,
  kernel,
  modules,
  devices,
  ways,
  openssl,
  disks,
  messages,
  results,
  vpn,
  secrets,
}: Gathered): boolean {
  return (
    Object.keys(machine).length > 0 ||
    kernel.entries.length > 0 ||
    modules.loaded.size + modules.rules.length + modules.config.size > 0 ||
    devices.devices.length + devices.troubles.length + devices.interrupts.length > 0 ||
    Object.keys(ways).length > 0 ||
    openssl.versions.length + openssl.engines.length + openssl.dumps.length + openssl.sessions.length > 0 ||
    openssl.loadFailures.size + openssl.files.size + openssl.configured.size > 0 ||
    openssl.noEngineSupport !== undefined ||
    disks.tables.length + disks.headers.length + disks.block.length > 0 ||
    // A word of wrong data, or an engine's name, tells nothing by itself.
    messages.some(({ code }) => code !== 'IN_USE' && code !== 'WRONG_DATA') ||
    ['IN_USE', 'WRONG_DATA'].every((word) => messages.some(({ code }) => code === word)) ||
    vpn.length + secrets.length > 0 ||
    results.sets.length > 0
  );
}

/** The same lines of a text that was given twice, once; where each stands is no part of what it says. */
function distinct<T extends { readonly quote: Quote }>(items: readonly T[]): T[] {
  const seen = new Map<string, T>();
  for (const item of items) {
    const key = item.quote.text;
    if (!seen.has(key)) seen.set(key, item);
  }
  return [...seen.values()];
}

function mergeDevices(all: readonly Devices[]): Devices {
  const devices = new Map<string, Devices['devices'][number]>();
  // A node in one text and its driver's words in another are one device; of two answers the first text's counts.
  for (const device of all.flatMap((one) => one.devices))
    devices.set(device.name, { ...device, ...devices.get(device.name) });
  return {
    devices: [...devices.values()],
    registered: new Map(
      all.flatMap(({ registered }) => [...registered].map(([id, names]) => [id, names] as const)),
    ),
    troubles: distinct(all.flatMap(({ troubles }) => troubles)),
    growth: all.flatMap(({ growth }) => growth),
    interrupts: all.flatMap(({ interrupts }) => interrupts),
    loadedDrivers: all.flatMap(({ loadedDrivers }) => loadedDrivers),
  };
}

function mergeOpenssl(all: readonly Openssl[]): Openssl {
  const join = <V>(pick: (openssl: Openssl) => ReadonlyMap<string, V>): Map<string, V> =>
    new Map(all.toReversed().flatMap((openssl) => [...pick(openssl)]));
  const merged = Object.assign({}, ...all.toReversed()) as Openssl;
  return {
    ...merged,
    versions: [
      ...new Map(all.flatMap(({ versions }) => versions.map((version) => [version.value, version]))).values(),
    ],
    engines: [
      ...new Map(all.flatMap(({ engines }) => engines.map((engine) => [engine.id, engine]))).values(),
    ],
    listed: all.some(({ listed }) => listed),
    files: join(({ files }) => files),
    configured: join(({ configured }) => configured),
    dumps: distinct(all.flatMap(({ dumps }) => dumps)),
    sessions: all.flatMap(({ sessions }) => sessions),
    loadFailures: join(({ loadFailures }) => loadFailures),
  };
}
