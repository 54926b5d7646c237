/**
 * Where charts are drawn: Observable Plot, and a document for it that is not a browser's.
 *
 * Room `report`. Both are loaded when the first chart is drawn, 0.3 s that no other command pays. What comes out is text in which nothing depends
 * on a script, a style attribute or the network: colours, fonts and dark mode are the page's own style sheet's (style.ts).
 */
import type * as PlotLibrary from '@observablehq/plot';
import type { Document, Element, Node } from '@xmldom/xmldom';
import { escapeHtml, type Html, raw } from './markup.js';

export type Plot = typeof PlotLibrary;
export type PlotOptions = PlotLibrary.PlotOptions;
export type Mark = PlotLibrary.Markish;

export interface Canvas {
  readonly plot: Plot;
  /** Draws, and gives an `<svg>` element. */
  draw(options: PlotOptions, labels: Labels): Html;
}

/** What a screen reader says of a chart. */
export interface Labels {
  /** Not taken by anything else on the page. */
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly className: string;
}

const XHTML = 'http://www.w3.org/1999/xhtml';
const ELEMENT = 1;

export async function openCanvas(): Promise<Canvas> {
  const [plot, { DOMImplementation, XMLSerializer }] = await Promise.all([
    import('@observablehq/plot'),
    import('@xmldom/xmldom'),
  ]);
  const document: Document = new DOMImplementation().createDocument(XHTML, 'html', null);
  const serializer = new XMLSerializer();
  return {
    plot,
    draw(options, labels) {
      const figure = plot.plot({
        ...options,
        document: document as unknown as NonNullable<PlotOptions['document']>,
      }) as unknown as Element;
      tidy(figure);
      const inner = [...figure.childNodes].map((child) => serializer.serializeToString(child)).join('');
      const box = escapeHtml(figure.getAttribute('viewBox') ?? '');
      const { id, title, description, className } = labels;
      return raw(
        `<svg class="${escapeHtml(className)}" role="img" viewBox="${box}" aria-labelledby="${id}-t ${id}-d">` +
          `<title id="${id}-t">${escapeHtml(title)}</title><desc id="${id}-d">${escapeHtml(description)}</desc>` +
          `${inner.replaceAll(` xmlns="http://www.w3.org/2000/svg"`, '')}</svg>`,
      );
    },
  };
}

/**
 * Takes off what the page says itself (the library's style sheet, which the page's policy would refuse) and what a screen reader should not say
 * after title and description; rounds coordinates, whose seventeen digits are most of a chart's length.
 */
function tidy(node: Element): void {
  for (const child of [...node.childNodes] as Node[]) {
    if (child.nodeType !== ELEMENT) continue;
    const element = child as Element;
    if (element.nodeName === 'style') {
      node.removeChild(element);
      continue;
    }
    for (const { name, value } of [...element.attributes]) {
      if (name === 'style' || name.startsWith('aria-')) element.removeAttribute(name);
      else element.setAttribute(name, value.replace(/-?\d+\.\d{2,}(?:e-?\d+)?/g, shortened));
    }
    tidy(element);
  }
}

const shortened = (digits: string): string => String(Math.round(Number(digits) * 10) / 10);
