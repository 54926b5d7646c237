/** Who says what is right: another implementation, asked for each message whole, in a session of its own. */
import type { Algorithm } from '../../algorithms.js';
import type { Direction, Driver } from '../../drivers/driver.js';
import { allDrivers, type DriverChoice, labelOf, libraryDrivers, optionsOf } from '../../drivers/registry.js';
import type { Outcome, Sealed } from './perform.js';
import { mayRefuse, undecided } from './refusal.js';
import { keyAt, type Message, type Trial } from './trial.js';

export interface Reference {
  readonly choice: DriverChoice;
  readonly label: string;
  /** False where the driver itself must do: it then shows only that it agrees with itself. */
  readonly independent: boolean;
}

function can(driver: Driver, algorithm: Algorithm): boolean {
  return driver.probe().available && driver.supports(algorithm).supported;
}

/** Drivers that can vouch for another one, the best first: libraries, then a kernel whose work is known to stay on the CPU. */
export function* references(choice: DriverChoice, algorithm: Algorithm): Generator<Reference> {
  // libcrypto before all: it is the one that everybody else's figures and bytes are held against.
  const libraries = libraryDrivers();
  for (const driver of new Set([...libraries, ...allDrivers()])) {
    if (driver.name === choice.driver.name || !can(driver, algorithm)) continue;
    if (!libraries.includes(driver) && driver.implementation(algorithm)?.hardware !== 'no') continue;
    yield { choice: { driver }, label: driver.name, independent: true };
  }
}

export const itself = (choice: DriverChoice): Reference => ({
  choice,
  label: `${labelOf(choice)}, one message a session`,
  independent: false,
});

/**
 * The AEAD messages of a trial to be opened, sealed by the reference.
 * @returns undefined where it seals no such message
 */
export function sealedBy(reference: Reference, trial: Trial): Sealed[][] | undefined {
  if (trial.algorithm.kind !== 'aead' || trial.task !== 'decrypt') return [];
  const encrypt: Trial = { ...trial, task: 'encrypt' };
  const sealed: Sealed[][] = [];
  for (const messages of trial.sessions) {
    const own: Sealed[] = [];
    for (const at of messages.keys()) {
      const answer = answerOf(reference, encrypt, messages, at);
      if (!answer) return undefined;
      own.push({ text: answer.output, tag: answer.tag! });
    }
    sealed.push(own);
  }
  return sealed;
}

/** The right outcome of a message, or undefined where the reference does not take it. @throws where it ran out of something */
export function answerOf(
  { choice }: Reference,
  { algorithm, task, tagBytes, outputBytes }: Trial,
  messages: readonly Message[],
  at: number,
): Outcome | undefined {
  const { iv, aad = new Uint8Array(), input } = messages[at]!;
  const key = keyAt(messages, at);
  const options = optionsOf(choice);
  try {
    switch (algorithm.kind) {
      case 'cipher': {
        const output = new Uint8Array(input.length);
        using session = choice.driver.cipher(algorithm, task as Direction, key, iv, options);
        session.update(input, output);
        return { output };
      }
      case 'aead': {
        // What was sealed must come back.
        if (task === 'decrypt') return { output: input };
        const output = new Uint8Array(input.length);
        const tag = new Uint8Array(tagBytes ?? algorithm.defaultTagBytes);
        using session = choice.driver.aead(algorithm, 'encrypt', key, { ...options, tagBytes: tag.length });
        session.seal(iv!, aad, input, output, tag);
        return { output, tag };
      }
      default: {
        const output = new Uint8Array(outputBytes ?? algorithm.digestBytes);
        using session =
          algorithm.kind === 'hash'
            ? choice.driver.hash(algorithm, options)
            : choice.driver.mac(algorithm, key, options);
        session.once(input, output);
        return { output };
      }
    }
  } catch (error) {
    if (undecided(error) && !mayRefuse(error)) throw error;
    // Its own failure is told where it is tried itself; here it is one that cannot be asked.
    return undefined;
  }
}
