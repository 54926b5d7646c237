/** What a text tells of the machine beside the figures. Never its name, though most of these lines hold it too. */
import type { MachineFacts } from '../bench/model.js';
import { redact } from './redact.js';

/** `key : value` lines of /proc/cpuinfo and lscpu. */
const KEYS: Readonly<Record<string, 'model' | 'cpu' | 'architecture'>> = {
  'system type': 'model',
  machine: 'model',
  Hardware: 'model',
  'model name': 'cpu',
  'Model name': 'cpu',
  'cpu model': 'cpu',
  Architecture: 'architecture',
};

export function readFacts(text: string): MachineFacts {
  if (text.length > 4000) return {};
  if (text.startsWith('CPUINFO:')) {
    const value = text.slice('CPUINFO:'.length).trim();
    return value === '' || value === 'N/A' ? {} : { cpuFeatures: redact(value, 200) };
  }
  if (text.startsWith('compiler:')) {
    const program = text.slice('compiler:'.length).trim().split(' ')[0] ?? '';
    const name = program.split('/').at(-1)!;
    const triplet = /^([a-z0-9_]{2,20})-[\w-]{1,60}$/.exec(name);
    const architecture =
      triplet && /^(?:arm|aarch64|mips|x86_64|i\d86|riscv|powerpc|ppc|s390)/.test(triplet[1]!)
        ? triplet[1]
        : undefined;
    return {
      ...(/^[\w.+-]{2,80}$/.test(name) ? { compiler: name } : {}),
      ...(architecture !== undefined ? { architecture } : {}),
    };
  }
  // uname -a: kernel name, host, release. The host is stepped over.
  const uname = /^Linux \S{1,64} (\d{1,2}\.\d{1,3}[\w.+-]{0,40}) #/.exec(text);
  if (uname) return { kernel: uname[1]! };
  // What iostat prints at the top of an sbc-bench log: `Linux 4.9.156-14 (host) 01/28/18 _aarch64_ (6 CPU)`.
  const iostat =
    /^Linux (\d{1,2}\.\d{1,3}[\w.+-]{0,40}) \([^()]{0,64}\)\s.{0,40}_([a-z0-9_]{2,12})_\s{1,8}\((\d{1,5}) CPU\)/.exec(
      text,
    );
  if (iostat) return { kernel: iostat[1]!, architecture: iostat[2]!, cpus: Number(iostat[3]) };
  const colon = text.indexOf(':');
  const key = colon > 0 ? KEYS[text.slice(0, colon).trim()] : undefined;
  const value = colon > 0 ? redact(text.slice(colon + 1), 80) : '';
  return key !== undefined && value !== '' ? { [key]: value } : {};
}
