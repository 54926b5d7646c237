/** `hwcrypt probe`: the collector, to be taken to a machine that cannot run Node. */
import { probeScript } from '../../doctor/index.js';
import type { CommandSpec } from '../options.js';
import { writeResult } from '../stdio.js';

export const command: CommandSpec = {
  name: 'probe',
  summary: 'Print the script that collects what `hwcrypt doctor` reads, for a router that cannot run Node.',
  usage: '> hwcrypt-probe.sh',
  options: [],
  notes: `On the router, as root where that is possible:
  sh hwcrypt-probe.sh > router.txt           below a minute, with timings
  sh hwcrypt-probe.sh --quick > router.txt   some seconds, without

It needs a POSIX shell, changes nothing and leaves nothing behind. Host names,
addresses, serial numbers and keys are not in what it prints. Then, here:
  hwcrypt doctor router.txt
or both at once:
  hwcrypt doctor --ssh root@router`,
  run: async () => {
    writeResult(probeScript());
    return 0;
  },
};
