/**
 * JSON documents that a schema describes: the words for a schema, and the check of a value that may come from anywhere.
 *
 * Room: none above; imports nothing but `errors`. Any room may import this file.
 */
import { HwcryptError } from './errors.js';

/** The part of JSON Schema (draft 2020-12) that is used. A reader ignores properties that a schema does not name. */
export interface Schema {
  readonly $schema?: string;
  readonly $id?: string;
  readonly title?: string;
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  readonly type?:
    | 'object'
    | 'array'
    | 'string'
    | 'number'
    | 'integer'
    | 'boolean'
    | readonly ['number', 'null'];
  readonly const?: string | number;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

export const text: Schema = { type: 'string' };
export const count: Schema = { type: 'integer', minimum: 0 };
export const amount: Schema = { type: 'number', minimum: 0 };
export const ref = (name: string): Schema => ({ $ref: `#/$defs/${name}` });
export const list = (items: Schema): Schema => ({ type: 'array', items });
export const oneOf = (...values: string[]): Schema => ({ type: 'string', enum: values });
export const object = (required: string[], properties: Record<string, Schema>): Schema => ({
  type: 'object',
  required,
  properties,
});

function invalid(where: string, what: string): HwcryptError {
  return new HwcryptError('INPUT_FILE', `${where}: ${what}`);
}

/**
 * A copy of the value with what the schema names and nothing else. It goes no deeper than the schema does.
 *
 * @param where what the value is called in errors
 * @param clean what is done to each text before it is taken
 * @throws HwcryptError INPUT_FILE with the place and the reason where the value is not what the schema describes
 */
export function conform(
  root: Schema,
  value: unknown,
  where: string,
  clean: (text: string) => string = (own) => own,
): unknown {
  const check = (schema: Schema, value: unknown, where: string): unknown => {
    if (schema.$ref !== undefined) {
      return check(root.$defs![schema.$ref.slice('#/$defs/'.length)]!, value, where);
    }
    if (schema.const !== undefined) {
      if (value !== schema.const) throw invalid(where, `is not ${JSON.stringify(schema.const)}`);
      return value;
    }
    switch (schema.type) {
      case 'object': {
        if (typeof value !== 'object' || value === null || Array.isArray(value))
          throw invalid(where, 'is no object');
        const out: Record<string, unknown> = {};
        for (const [key, own] of Object.entries(schema.properties ?? {})) {
          if (!Object.hasOwn(value, key)) {
            if (schema.required?.includes(key)) throw invalid(where, `has no "${key}"`);
            continue;
          }
          out[key] = check(own, (value as Record<string, unknown>)[key], `${where}.${key}`);
        }
        return out;
      }
      case 'array': {
        if (!Array.isArray(value)) throw invalid(where, 'is no list');
        if (
          value.length < (schema.minItems ?? 0) ||
          value.length > (schema.maxItems ?? Number.POSITIVE_INFINITY)
        ) {
          throw invalid(where, `has ${value.length} items`);
        }
        return value.map((item, index) => check(schema.items!, item, `${where}[${index}]`));
      }
      case 'string': {
        if (typeof value !== 'string') throw invalid(where, 'is no string');
        if (schema.enum && !schema.enum.includes(value))
          throw invalid(where, `is none of ${schema.enum.join(', ')}`);
        return clean(value);
      }
      case 'boolean':
        if (typeof value !== 'boolean') throw invalid(where, 'is neither true nor false');
        return value;
      default: {
        if (value === null && Array.isArray(schema.type)) return value;
        if (typeof value !== 'number' || !Number.isFinite(value)) throw invalid(where, 'is no number');
        if (schema.type === 'integer' && !Number.isSafeInteger(value))
          throw invalid(where, 'is no whole number');
        if (schema.minimum !== undefined && value < schema.minimum)
          throw invalid(where, `is below ${schema.minimum}`);
        return value;
      }
    }
  };
  return check(root, value, where);
}
