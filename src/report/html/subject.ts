/** One subject (algorithm and operation) over several request sizes: charts, tables, what they stand on. Room `report`. */
import type { Fit, FitProblem, Line, Series, SubjectComparison } from '../../bench/comparison/index.js';
import { percent, requestSize, roughSize } from '../units.js';
import { apartText, verdictText } from '../verdict.js';
import type { Canvas } from './canvas.js';
import { type Curve, hasPoints, lineChart } from './charts.js';
import { detailsTable } from './details.js';
import { digits, megabytesPerSecond, plain, rateTick, ratioText, time } from './figures.js';
import { claimedSwatch, look, swatch } from './look.js';
import { type Html, html, shorten } from './markup.js';
import { shared, without } from './notes.js';
import type { Parts } from './parts.js';
import { tableBox } from './table.js';
import { heading, implementationWords, say } from './words.js';

/** Nearer to each other than this, claimed and true figure are one line. */
const SAME = 0.02;
/** More lines in one chart cannot be told apart, more charts and sentences are not looked at. The tables have everything. */
const MOST_CURVES = 24;
const MOST_CHARTS = 100;
const MOST_SENTENCES = 24;

export function subjectSection(
  parts: Parts,
  canvas: Canvas,
  comparison: SubjectComparison,
  index: number,
): Html {
  const id = `s${index}`;
  const { series, pairs } = comparison;
  const { notes } = parts;
  const name = heading(comparison);
  const why = apartText(comparison);
  const shown = series.map((own, i) => ({ ...own, look: look(i) }));
  const withPoints = shown.filter(({ points }) => points.length > 0);
  const drawn = index < MOST_CHARTS ? withPoints.slice(0, MOST_CURVES) : [];
  const claimed = drawn.some(claimsDiffer);
  const curves: Curve[] = drawn.map((own) => ({
    label: shorten(own.label),
    look: own.look,
    points: own.points.map(({ requestBytes, bytesPerSecond }) => ({
      bytes: requestBytes,
      value: bytesPerSecond,
    })),
    ...(claimsDiffer(own) ? { claimed: claims(own) } : {}),
  }));
  const crossovers = pairs.flatMap(({ crossover }) =>
    crossover.crossings.map(({ estimateBytes }) => ({
      bytes: estimateBytes,
      text: `≈ ${roughSize(estimateBytes)}`,
    })),
  );
  return html`<section id="${id}" aria-labelledby="${id}-h">
<h2 id="${id}-h"><bdi>${name}</bdi></h2>
${why !== undefined && html`<p><bdi>${shorten(why, 600)}</bdi></p>`}
${pairs.slice(0, MOST_SENTENCES).map((pair) => html`<p class="verdict"><bdi>${shorten(verdictText(pair), 1200)}</bdi></p>`)}
${
  hasPoints(curves) &&
  html`<figure><figcaption>Throughput by request size<small>Both scales logarithmic; MB/s are 10⁶ bytes a second of elapsed time.${crossovers.length > 0 && ' The dotted upright line is where two of them are as fast as each other.'}</small></figcaption>
${legend(drawn, claimed)}
${lineChart(canvas, {
  id: `${id}-rate`,
  title: `${name}: throughput by request size`,
  description: describe(curves, (value) => `${megabytesPerSecond(value)} MB/s`),
  yTick: rateTick,
  curves,
  crossovers,
})}
</figure>`
}
${drawn.length < withPoints.length && html`<p class="soft">${drawn.length} of ${withPoints.length} series are drawn; the tables have all of them.</p>`}
${rateTable(parts, comparison, shown)}
${latencyFigure(canvas, id, name, drawn)}
${cpuFigure(canvas, id, name, drawn)}
${fitTable(comparison)}
${detailsTable(parts, series, name)}
${notes.print()}
</section>`;
}

type Shown = Series & { readonly look: ReturnType<typeof look> };

function claims({ points }: Series): { bytes: number; value: number }[] {
  return points.flatMap(({ requestBytes, claimedBytesPerSecond: value }) =>
    value === undefined ? [] : [{ bytes: requestBytes, value }],
  );
}

function claimsDiffer({ points }: Series): boolean {
  return points.some(
    ({ claimedBytesPerSecond: claimed, bytesPerSecond }) =>
      claimed !== undefined && Math.abs(claimed / bytesPerSecond - 1) > SAME,
  );
}

function legend(shown: readonly Shown[], claimed: boolean): Html {
  return html`<ul class="legend">${shown
    .filter(({ points }) => points.length > 0)
    .map(
      ({ label, look }) => html`<li>${swatch(look)}${say(label)}</li>`,
    )}${claimed && html`<li>${claimedSwatch()}as the tool claims</li>`}</ul>`;
}

/** The curve in words, for those who do not see it. */
function describe(curves: readonly Curve[], show: (value: number) => string): string {
  return curves
    .filter(({ points }) => points.length > 0)
    .map(({ label, points }) => {
      const [first, last] = [points[0]!, points.at(-1)!];
      const at = ({ bytes, value }: typeof first): string => `${show(value)} at ${requestSize(bytes)}`;
      return `${label}: ${points.length > 1 ? `${at(first)} to ${at(last)}` : at(first)}.`;
    })
    .join(' ');
}

function rateTable(
  { places, notes }: Parts,
  { baseline, pairs }: SubjectComparison,
  shown: readonly Shown[],
): Html {
  const withPoints = shown.filter(({ points }) => points.length > 0);
  const sizes = [
    ...new Set(withPoints.flatMap(({ points }) => points.map(({ requestBytes }) => requestBytes))),
  ].sort((a, b) => a - b);
  if (sizes.length === 0) return html``;
  const heads = withPoints.map((own) => {
    const common = shared(own.points);
    const who = implementationWords(own);
    return {
      own,
      common,
      ratios: new Map(
        pairs
          .find(({ other }) => other.label === own.label && own.label !== baseline?.label)
          ?.ratios.map((at) => [at.requestBytes, at]),
      ),
      head: html`<th scope="col">${swatch(own.look)}${say(own.label, 40)}${notes.refs(common)}${who !== '' && html`<small>${say(who, 60)}</small>`}</th>`,
    };
  });
  const rows = sizes.map((bytes) => {
    const cells = heads.map(({ own, common, ratios }) => {
      const point = own.points.find(({ requestBytes }) => requestBytes === bytes);
      const ratio = ratios.get(bytes);
      const figure = point
        ? html`<td>${places.datum(point.measurement, 'bytesPerSecond', megabytesPerSecond)}${notes.refs(without(point.doubts, common))}</td>`
        : html`<td class="none">–</td>`;
      if (ratios.size === 0) return figure;
      const side = ratio?.outcome === 'faster' ? 'win' : ratio?.outcome === 'slower' ? 'lose' : 'even';
      return html`${figure}${ratio ? html`<td class="${side}"><data value="${String(ratio.ratio)}">${ratioText(ratio.ratio)}</data></td>` : html`<td class="none">–</td>`}`;
    });
    return html`<tr><th scope="row"><data value="${String(bytes)}">${requestSize(bytes)}</data></th>${cells}</tr>`;
  });
  const head = heads.map(
    ({ head, ratios }) =>
      html`${head}${ratios.size > 0 && html`<th scope="col">ratio<small>to ${say(baseline?.label ?? '', 40)}</small></th>`}`,
  );
  return tableBox({
    label: 'Throughput as a table',
    caption: html`Throughput, MB/s`,
    head: html`<th scope="col">request</th>${head}`,
    rows: rows,
  });
}

function latencyFigure(canvas: Canvas, id: string, name: string, shown: readonly Shown[]): Html {
  const known = shown.map((own) => ({
    ...own,
    latencies: own.points.flatMap(({ requestBytes: bytes, measurement: { latency } }) =>
      latency ? [{ bytes, ...latency }] : [],
    ),
  }));
  const curves: Curve[] = known.map(({ label, look, latencies }) => ({
    label: shorten(label),
    look,
    points: latencies.map(({ bytes, p50Ns }) => ({ bytes, value: p50Ns })),
    thin: latencies.map(({ bytes, p90Ns }) => ({ bytes, value: p90Ns })),
    band: latencies.map(({ bytes, p50Ns, p99Ns }) => ({ bytes, low: p50Ns, high: p99Ns })),
  }));
  if (!hasPoints(curves)) return html``;
  return html`<figure><figcaption>Time of one request<small>The median as a line; 90 of 100 requests took no longer than the thin line, 99 no longer than the band reaches.</small></figcaption>
${legend(
  known.filter(({ latencies }) => latencies.length > 0),
  false,
)}
${lineChart(canvas, { id: `${id}-latency`, title: `${name}: time of one request by its size`, description: describe(curves, time), yTick: time, curves })}
</figure>`;
}

function cpuFigure(canvas: Canvas, id: string, name: string, shown: readonly Shown[]): Html {
  const known = shown.filter(({ points }) => points.some(({ cpu }) => cpu !== undefined));
  const curves: Curve[] = known.map(({ label, look, points }) => ({
    label: shorten(label),
    look,
    // Nanoseconds a byte are seconds a gigabyte.
    points: points.flatMap(({ requestBytes: bytes, cpu }) => (cpu ? [{ bytes, value: cpu.nsPerByte }] : [])),
  }));
  if (!hasPoints(curves)) return html``;
  const partly = known.some(({ points }) => points.some(({ cpu }) => cpu?.scope === 'user'));
  const seconds = (value: number): string => `${digits(value)} s/GB`;
  return html`<figure><figcaption>CPU time for a gigabyte<small>Less leaves more of the processor to others.${partly && ' The text tells user time alone: what the kernel spent is missing, which is most of it where the kernel or an engine did the work.'}</small></figcaption>
${legend(known, false)}
${lineChart(canvas, { id: `${id}-cpu`, title: `${name}: CPU time for a gigabyte by request size`, description: describe(curves, seconds), yTick: (value) => `${plain(value)} s/GB`, curves })}
</figure>`;
}

const FIT_PROBLEMS: Readonly<Record<FitProblem, string>> = {
  FEW_SIZES: 'fewer than three sizes',
  NO_COST_PER_BYTE: 'the time does not grow with the size',
  NEGATIVE_FIXED_COST: 'small requests are served in another way than large ones',
  POOR_FIT: 'the times lie on no line',
};

function fitTable({ series, fits }: SubjectComparison): Html {
  const rows = series.flatMap((own, i) => {
    const fit = fits[i] as Fit;
    return fit.line || (fit.problem && fit.problem !== 'FEW_SIZES') ? [{ own, fit, look: look(i) }] : [];
  });
  if (rows.length === 0) return html``;
  const body = rows.map(({ own, fit: { line, problem }, look }) => {
    const cells =
      line && problem === undefined
        ? html`<td>${fixedCost(line)}</td><td>${digits(line.nsPerByte)} ns${error(line.nsPerByteError / line.nsPerByte)}</td><td>${line.peakBytesPerSecond === undefined ? '–' : `${megabytesPerSecond(line.peakBytesPerSecond)} MB/s`}</td><td>${line.halfPeakBytes === undefined ? '–' : roughSize(line.halfPeakBytes)}</td>`
        : html`<td class="text none" colspan="4">${FIT_PROBLEMS[problem!] ?? 'no line'}</td>`;
    return html`<tr><th scope="row" class="name">${swatch(look)}${say(own.label, 40)}</th>${cells}</tr>`;
  });
  return tableBox({
    label: 'Cost of a request',
    caption: html`What a request costs: t = a + b·n, fitted to the sizes above`,
    head: html`<th scope="col" class="name">series</th><th scope="col">a, for each request</th><th scope="col">b, for each byte</th><th scope="col">limit for large requests, about</th><th scope="col">half of it from</th>`,
    rows: body,
  });
}

function fixedCost({ fixedNs, fixedNsError }: Line): Html {
  if (fixedNs <= 0 || fixedNs < 2 * fixedNsError) return html`<span class="none">none to be seen</span>`;
  return html`${time(fixedNs)}${error(fixedNsError / fixedNs)}`;
}

function error(share: number): Html {
  return html` <span class="none">± ${share < 0.0005 ? '0 %' : percent(share)}</span>`;
}
