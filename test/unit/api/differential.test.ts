/** hwcrypt and node:crypto in lock step: the same random calls on both, and every answer compared. */

import { lockStep } from '../../helpers/api-lockstep.js';
import { instance, wholeModule } from '../../helpers/api-shape.js';

lockStep('hwcrypt', wholeModule, { runs: 1500 });
lockStep('libcrypto', instance({ drivers: 'libcrypto' }), { runs: 1000, pinned: true });
lockStep('node', instance({ drivers: 'node' }), { runs: 600 });
