/** `hwcrypt calibrate`: measures from which size on which driver is the cheapest, and keeps it for this machine. */
import { type Algorithm, algorithms, findAlgorithm } from '../../algorithms.js';
import { HwcryptError } from '../../errors.js';
import { entryText, profileText, type ShownProfile, withLeads } from '../../report/calibration.js';
import { StatusLine } from '../../report/status-line.js';
import { requestSize } from '../../report/units.js';
import { calibrate, calibrationContestants } from '../../routing/calibrate.js';
import { openProfile, type Profile, type ProfileEntry } from '../../routing/profile.js';
import { Interruption } from '../interruption.js';
import { type CommandSpec, type Given, nearest } from '../options.js';
import { subjectsOf } from '../speed-subjects.js';
import { terminalColumns, writeError, writeText } from '../stdio.js';

/** What people use, in the modes that engines have and in those that they mostly lack. */
const USUAL = [
  'aes-128-cbc',
  'aes-256-cbc',
  'aes-128-ctr',
  'aes-256-ctr',
  'aes-128-xts',
  'aes-256-xts',
  'aes-128-gcm',
  'aes-256-gcm',
  'chacha20-poly1305',
  'sha256',
  'hmac-sha256',
];

export const command: CommandSpec = {
  name: 'calibrate',
  summary:
    'Measures from which request size on which driver is the cheapest, and keeps that for this machine.',
  usage: '[ALGORITHM…] [options]',
  operands: 100,
  options: [
    { names: ['--quick'], help: 'Fewer sizes, shorter, one request at a time', section: 'What' },
    { names: ['--show'], help: 'What is kept, whether it is used, and why not', section: 'What' },
    { names: ['--forget'], help: 'Forget what was measured', section: 'What' },
    {
      names: ['--quarantine'],
      help: 'With --forget: forget who gave wrong results instead, for ALGORITHM or for all',
      section: 'What',
    },
    { names: ['--json'], help: 'JSON, as docs/profile.md describes it', section: 'Output' },
  ],
  rules: [
    { of: '--quick', beside: ['--show', '--forget'] },
    { of: '--forget', beside: ['--show', '--json'] },
    { of: '--quarantine', needs: ['--forget'] },
  ],
  notes: `Without ALGORITHM the usual ones that more than one driver here can do. A few seconds
each, on a machine that does nothing else. The figures are kept in the profile
(docs/profile.md; HWCRYPT_PROFILE names another file), which open({ policy:
'fastest' }) uses as long as kernel, CPU, drivers and kernel drivers are the same.
Who gave wrong results is kept there too, and gets no work until --forget
--quarantine; then he is checked again before his first use.

  hwcrypt calibrate
  hwcrypt calibrate --quick aes-128-cbc sha256
  hwcrypt calibrate --show`,
  suggest: (name) =>
    nearest(
      name,
      algorithms().map((own) => own.name),
    ),
  run,
};

async function run(given: Given, operands: readonly string[]): Promise<number> {
  const named = operands.length > 0 ? algorithmsOf(operands) : undefined;
  if (given.has('forget')) return given.has('quarantine') ? release(named) : forget(operands);
  const profile = openProfile();
  if (given.has('show')) return show(profile, named, given.has('json'));
  const { able, skipped } = withChoice(named ?? USUAL.flatMap((name) => findAlgorithm(name) ?? []));
  for (const { algorithm, reason } of skipped)
    writeError(`hwcrypt: calibrate: ${algorithm} is left out: ${reason}`);
  if (able.length === 0) throw new HwcryptError('NO_DRIVER', 'there is nothing to choose between');
  return measureAll(profile, able, skipped, given);
}

function algorithmsOf(operands: readonly string[]): Algorithm[] {
  const subjects = subjectsOf({ evp: [], hmac: [], cmac: [], bare: operands, decrypt: false, aead: false });
  return subjects.map(({ algorithm }) => algorithm);
}

interface Skipped {
  readonly algorithm: string;
  readonly reason: string;
}

function withChoice(wanted: readonly Algorithm[]): { able: Algorithm[]; skipped: Skipped[] } {
  const able: Algorithm[] = [];
  const skipped: Skipped[] = [];
  for (const algorithm of wanted) {
    const contestants = calibrationContestants(algorithm);
    if (contestants.length > 1) able.push(algorithm);
    else {
      const [only] = contestants;
      const reason = only ? `only ${only.label} can do it` : 'no driver here can do it';
      skipped.push({ algorithm: algorithm.name, reason });
    }
  }
  return { able, skipped };
}

async function measureAll(
  profile: Profile,
  wanted: readonly Algorithm[],
  skipped: readonly Skipped[],
  given: Given,
): Promise<number> {
  const json = given.has('json');
  const status = new StatusLine();
  const interruption = new Interruption();
  let unkept: string | undefined;
  let printed = false;
  const keep = (entry: ProfileEntry): void => {
    if (unkept !== undefined) return;
    try {
      profile.saveEntries([entry]);
    } catch (error) {
      if (!(error instanceof HwcryptError)) throw error;
      unkept = error.message;
    }
  };
  let finished = 0;
  let entries: ProfileEntry[];
  try {
    entries = await calibrate(wanted, {
      quick: given.has('quick'),
      signal: interruption.signal,
      hooks: {
        step: ({ algorithm, operation, phase, driver, requestBytes }) =>
          status.show(
            `${finished + 1}: ${algorithm} ${operation}, ${phase}: ${driver} at ${requestSize(requestBytes)}; Ctrl-C keeps what is finished`,
          ),
        entry: (entry, done) => {
          finished = done;
          status.clear();
          keep(entry);
          if (json) return;
          writeText(`${printed ? '\n' : ''}${entryText(entry, terminalColumns())}`);
          printed = true;
        },
      },
    });
  } finally {
    interruption.settle();
    status.clear();
  }
  const { path } = profile;
  if (json) {
    const kept = unkept === undefined && path !== undefined;
    const found = { ...(path === undefined ? {} : { path }), kept, entries: entries.map(withLeads), skipped };
    writeText(`${JSON.stringify(found, null, 2)}\n`);
  }
  if (interruption.status !== undefined)
    writeError(`hwcrypt: calibrate: interrupted after ${finished} measurements`);
  if (unkept !== undefined) writeError(`hwcrypt: calibrate: nothing is kept: ${unkept}`);
  else if (path === undefined) writeError('hwcrypt: calibrate: nothing is kept: HWCRYPT_PROFILE is empty');
  else if (finished > 0) writeError(`hwcrypt: calibrate: kept in ${path}`);
  return interruption.status ?? (unkept === undefined ? 0 : 1);
}

function show(profile: Profile, named: readonly Algorithm[] | undefined, json: boolean): number {
  const { path, stored } = profile;
  const notes = [...profile.notes];
  const entries = (stored?.entries ?? [])
    .filter(({ algorithm }) => named === undefined || named.some(({ name }) => name === algorithm))
    .map((entry) => {
      const note = profile.problemOf(entry);
      return { ...withLeads(entry), used: note === undefined, ...(note === undefined ? {} : { note }) };
    });
  const shown: ShownProfile = {
    ...(path === undefined ? {} : { path }),
    ...(stored === undefined ? {} : { machine: stored.machine }),
    entries,
    quarantine: stored?.quarantine ?? [],
    notes,
  };
  writeText(json ? `${JSON.stringify(shown, null, 2)}\n` : profileText(shown, terminalColumns()));
  return 0;
}

function forget(operands: readonly string[]): number {
  if (operands.length > 0)
    throw new HwcryptError('USAGE', '--forget takes no algorithm: it forgets all of them');
  const profile = openProfile();
  const count = profile.stored?.entries.length ?? 0;
  if (count === 0) {
    writeError('hwcrypt: calibrate: there is nothing to forget');
    return 0;
  }
  profile.clearEntries();
  const kept = profile.stored?.quarantine.length ?? 0;
  const rest = kept === 0 ? '' : `; ${kept} in quarantine stay there (--forget --quarantine)`;
  writeError(`hwcrypt: calibrate: forgotten: ${count} measurements${rest}`);
  return 0;
}

/** Lets those work again that gave wrong results. They are checked before their first use, as everybody is. */
function release(named: readonly Algorithm[] | undefined): number {
  const profile = openProfile();
  const count = (): number => profile.stored?.quarantine.length ?? 0;
  const before = count();
  if (named === undefined) profile.clearQuarantine();
  else for (const { name } of named) profile.clearQuarantine(name);
  const released = before - count();
  writeError(
    released === 0
      ? 'hwcrypt: calibrate: nobody is in quarantine'
      : `hwcrypt: calibrate: ${released} may work again, if the check before the first use finds nothing`,
  );
  return 0;
}
