/**
 * Room `files`: files and pipes as a command needs them: reading with errors that name the cause, output that appears whole or not
 * at all, and what has to be undone when the process is told to stop.
 *
 * May import: `errors`. It knows no formats and no crypto.
 */
export { onInterrupt, SIGNALS } from './interrupt.js';
export { counted, Input, nameProblem, printable, systemMessage } from './io.js';
export { checkOutput, type Output, type OutputOptions, openOutput } from './output.js';
