/**
 * One run of one guest, from its start to its certain end.
 *
 * The guest's process is not started by this process but by a small shell, the keeper, which leads a process group of
 * its own. Its stdin is a pipe that only this process holds open. When that pipe closes, however this process ended,
 * the keeper kills the whole group: no guest outlives its runner, not even one that was ended by SIGKILL.
 * (PR_SET_PDEATHSIG would not do: user-mode Linux is many processes, and those it traces would go on.)
 */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import type { Readable } from 'node:stream';
import { type Boot, type GuestSystem, jobScript, type Launch } from './job.js';
import { qemu } from './qemu.js';
import type { GuestKind, GuestOptions, GuestOutcome, GuestResult } from './types.js';
import { uml } from './uml.js';

const systems: Record<GuestKind, GuestSystem> = { uml, qemu };

export const status = { timeout: 124, failed: 125, aborted: 130 } as const;

const consoleTailBytes = 16 * 1024;

/**
 * Arguments: the guest's program and its arguments. fd 0: the pipe from the runner; fds 3, 4, 5: the channels.
 * `kill 0` reaches exactly this group, so no pid can be mistaken for another's.
 */
const keeper = `
exec 6<&0 0</dev/null
( exec 1>&- 2>&- 3>&- 4>&- 5>&-; read -r _ <&6; kill -9 0 ) &
exec 6<&-
"$@"
status=$?
kill -9 $! 2>/dev/null
exit $status
`;

export async function runInGuest(options: GuestOptions): Promise<GuestResult> {
  const started = performance.now();
  if (options.command.length === 0) throw new RangeError('no command to run in the guest');
  const system = systems[options.kind];
  system.check();
  const resultsFolder = makeResultsFolder(options);
  const runFolder = mkdtempSync(`${realpathSync(tmpdir())}/hwcrypt-rig-`);
  try {
    const boot: Boot = {
      options,
      runFolder,
      resultsFolder,
      memoryMiB: options.memoryMiB ?? system.memoryMiB,
    };
    writeFileSync(`${runFolder}/init`, jobScript(boot, system.modulesFolder()), { mode: 0o755 });
    const run = await keep(
      system.launch(boot),
      options,
      options.bootTimeoutSeconds ?? system.bootTimeoutSeconds,
    );
    return { ...run, resultsFolder, elapsedMs: performance.now() - started };
  } finally {
    rmSync(runFolder, { recursive: true, force: true });
  }
}

function makeResultsFolder(options: GuestOptions): string {
  const folder = options.resultsFolder ?? `results/${options.kind}`;
  mkdirSync(folder, { recursive: true });
  return realpathSync(folder);
}

type Run = Omit<GuestResult, 'resultsFolder' | 'elapsedMs'>;

function keep(launch: Launch, options: GuestOptions, bootTimeoutSeconds: number): Promise<Run> {
  const timeoutSeconds = options.timeoutSeconds ?? 600;
  return new Promise((resolve, reject) => {
    const started = performance.now();
    const child = spawn('/bin/sh', ['-c', keeper, 'keeper', launch.program, ...launch.args], {
      detached: true,
      env: { PATH: process.env['PATH'], TMPDIR: process.env['TMPDIR'], ...launch.env },
      stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
    });

    let ended: { outcome: GuestOutcome; status: number; message: string } | undefined;
    let commandStatus: number | undefined;
    let failure: string | undefined;
    let bootMs: number | undefined;
    let consoleTail = '';
    const output = { stdout: '', stderr: '' };

    const kill = () => {
      // Safe while the keeper has not been waited for: its pid, and so the group's id, cannot be anybody else's.
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
        try {
          process.kill(-child.pid, 'SIGKILL');
        } catch {
          // The group is gone already.
        }
      }
    };
    const end = (outcome: GuestOutcome, code: number, message: string) => {
      ended ??= { outcome, status: code, message };
      kill();
    };

    const timer = setTimeout(
      () => end('timeout', status.timeout, `the guest was ended after ${timeoutSeconds} s`),
      timeoutSeconds * 1000,
    );
    const bootTimer = setTimeout(
      () =>
        end('failed', status.failed, `the guest did not reach the command within ${bootTimeoutSeconds} s`),
      bootTimeoutSeconds * 1000,
    );
    let farewellTimer: NodeJS.Timeout | undefined;
    const onAbort = () => end('aborted', status.aborted, 'the guest was ended on request');
    if (options.signal?.aborted) onAbort();
    options.signal?.addEventListener('abort', onAbort, { once: true });

    const onConsole = (text: string) => {
      consoleTail = (consoleTail + text).slice(-consoleTailBytes);
      options.onConsole?.(text);
    };
    child.stdout!.setEncoding('utf8').on('data', onConsole);
    child.stderr!.setEncoding('utf8').on('data', onConsole);

    const [, , , control, stdout, stderr] = child.stdio as (Readable | null)[];
    let line = '';
    control!.setEncoding('utf8').on('data', (text: string) => {
      line += text;
      for (let at = line.indexOf('\n'); at >= 0; at = line.indexOf('\n')) {
        const [word, ...rest] = line.slice(0, at).split(' ');
        line = line.slice(at + 1);
        if (word === 'ready') {
          bootMs = performance.now() - started;
          clearTimeout(bootTimer);
        } else if (word === 'status' || word === 'failed') {
          if (word === 'status') commandStatus = Number(rest[0]);
          else failure = rest.join(' ');
          clearTimeout(bootTimer);
          clearTimeout(timer);
          // It powers off by itself; this is for the case that it does not.
          farewellTimer = setTimeout(kill, 5000);
        }
      }
    });
    forward(stdout!, process.stdout, 'stdout');
    forward(stderr!, process.stderr, 'stderr');

    function forward(from: Readable, to: NodeJS.WriteStream, name: 'stdout' | 'stderr') {
      if (options.output === 'capture') {
        from.setEncoding('utf8').on('data', (text: string) => {
          output[name] += text;
        });
      } else {
        from.pipe(to, { end: false });
      }
    }

    child.stdin!.on('error', () => {});
    const cleanUp = () => {
      clearTimeout(timer);
      clearTimeout(bootTimer);
      clearTimeout(farewellTimer);
      options.signal?.removeEventListener('abort', onAbort);
    };
    child.on('error', (error) => {
      cleanUp();
      reject(error);
    });
    // 'close' comes after the end of every channel, so nothing that the command wrote is lost.
    child.on('close', () => {
      cleanUp();
      child.stdin!.destroy();
      const common = { ...output, console: consoleTail, ...(bootMs === undefined ? {} : { bootMs }) };
      if (commandStatus !== undefined) {
        resolve({ outcome: 'exited', status: commandStatus, ...common });
      } else if (ended) {
        resolve({ ...ended, ...common });
      } else {
        const message =
          failure ?? `the guest died ${bootMs === undefined ? 'while booting' : 'under the command'}`;
        resolve({ outcome: 'failed', status: status.failed, message, ...common });
      }
    });
  });
}
