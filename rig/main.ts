/** `npm run rig -- uml|qemu [options] -- CMD…` */
import { runInGuest } from './guest.js';

const at = process.argv.indexOf('--');
const result = await runInGuest({
  kind: process.argv[2] === 'qemu' ? 'qemu' : 'uml',
  command: process.argv.slice(at + 1),
  ...(process.argv.includes('--verbose') ? { onConsole: (t: string) => void process.stderr.write(t) } : {}),
});
if (result.message) console.error(`rig: ${result.message}\n${result.console}`);
process.exitCode = result.status;
