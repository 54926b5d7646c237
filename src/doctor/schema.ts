/** JSON Schema of a diagnosis: what `hwcrypt doctor --json` prints. Readers ignore properties that it does not name. */
import { count, list, object, oneOf, ref, type Schema, text } from '../schema.js';
import { DIAGNOSIS_FORMAT, DIAGNOSIS_VERSION } from './diagnose.js';

export const DIAGNOSIS_SCHEMA: Schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'hwcrypt diagnosis',
  ...object(['format', 'version', 'verdict', 'healthy', 'findings', 'machine', 'sources'], {
    format: { const: DIAGNOSIS_FORMAT },
    version: { const: DIAGNOSIS_VERSION },
    verdict: text,
    healthy: { type: 'boolean' },
    findings: list(ref('finding')),
    machine: object([], {
      model: text,
      cpu: text,
      kernel: text,
      system: oneOf('openwrt', 'debian', 'buildroot', 'other'),
    }),
    sources: list(
      object(['name', 'bundle', 'lines', 'cut'], {
        name: text,
        bundle: oneOf('none', 'whole', 'truncated'),
        lines: count,
        cut: { type: 'boolean' },
      }),
    ),
  }),
  $defs: {
    // Identifiers, and topics, may be more in a later version.
    finding: object(
      ['id', 'topic', 'kind', 'weight', 'verdict', 'details', 'sureness', 'evidence', 'steps'],
      {
        id: text,
        topic: text,
        kind: oneOf('problem', 'advice', 'fine'),
        weight: { type: 'number', minimum: 0 },
        verdict: text,
        details: list(text),
        sureness: oneOf('certain', 'likely', 'possible'),
        evidence: list(object(['source', 'line', 'text'], { source: text, line: count, text })),
        steps: list(
          object(['text', 'commands'], {
            system: oneOf('openwrt', 'debian', 'buildroot', 'other'),
            text,
            commands: list(text),
          }),
        ),
        gain: text,
      },
    ),
  },
};
