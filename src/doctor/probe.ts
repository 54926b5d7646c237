/** The collector, `probe/hwcrypt-probe.sh`: a shell script that comes with the package, since routers cannot run Node. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const SCRIPT = fileURLToPath(new URL('../../probe/hwcrypt-probe.sh', import.meta.url));

/** The script itself, to be given to a shell. */
export function probeScript(): string {
  return readFileSync(SCRIPT, 'utf8');
}
