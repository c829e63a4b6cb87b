'use strict';

// Draws the plots of the report page, in the browser, as wide as their places are. Inlined by make.js,
// after d3 and Plot; what is drawn was decided in sections.js and lies in the page as JSON. Colours are
// the page's CSS variables, so that a change of scheme needs no drawing.

(() => {
  const { Plot } = /** @type {any} */ (globalThis);

  const FONT_SIZE = 13;
  const ROW_HEIGHT = 24;
  /** Room for a figure behind its bar. */
  const FIGURE_WIDTH = 70;
  const TICK_DISTANCE = 60;
  /** So many times the smallest figure, and a linear axis would show nothing of that. */
  const WIDE = 30;
  const LINE_COLORS = 6;
  const SYMBOLS = ['circle', 'square', 'triangle', 'diamond', 'star', 'wye', 'cross', 'times'];
  const STYLE = { fontSize: `${FONT_SIZE}px`, fontFamily: 'inherit', color: 'var(--text)' };
  const GRID = { stroke: 'var(--edge)', strokeOpacity: 1 };

  /**
   * @typedef {import('./sections').Plot} Spec
   * @typedef {import('./sections').PlotRow} Row
   * @typedef {Omit<Row, 'marks'> & import('./sections').Mark} Figure
   */

  /** @param {Row[]} rows @param {number} which of the marks @returns {Figure[]} */
  function figuresOf(rows, which) {
    return rows
      .filter(({ marks }) => marks.length > which)
      .map(({ marks, ...row }) => ({ ...row, ...marks[which] }));
  }

  /** @param {Spec} spec @returns {string[]} */
  function driversOf({ rows }) {
    return [...new Set(rows.map(({ driver }) => driver))];
  }

  /** @param {Spec} spec @returns {(driver: string) => string} */
  function labeller({ rows }) {
    const roles = new Map(rows.map(({ driver, role }) => [driver, role]));
    return (driver) => {
      const role = roles.get(driver);
      return role === 'limit' || role === 'anchor' ? `${driver} (${role})` : driver;
    };
  }

  /** @param {{ role?: string }} figure */
  function colorOf({ role }) {
    if (role === 'anchor') return 'var(--anchor)';
    return role === 'ours' ? 'var(--ours)' : 'var(--driver)';
  }

  /** @param {number} value of a tick */
  function shorten(value) {
    if (value >= 1e6) return `${value / 1e6}M`;
    if (value >= 1e4) return `${value / 1e3}k`;
    return value.toLocaleString('en', { maximumFractionDigits: 6 });
  }

  /** @param {Spec} spec @param {boolean} isLogarithmic */
  function axisLabel({ axis }, isLogarithmic) {
    return isLogarithmic ? `${axis}, logarithmic scale` : axis;
  }

  /**
   * As many of 1, 2 and 5 in each power of ten as there is room for.
   * @param {number[]} domain
   * @param {number} room
   */
  function logarithmicTicks([least, most], room) {
    const decades = Math.log10(most / least);
    const steps = [[1, 2, 5], [1, 3], [1]];
    const chosen = steps.find(({ length }) => room / (decades * length) > TICK_DISTANCE / 2);
    const first = Math.floor(Math.log10(least));
    return Array.from({ length: Math.ceil(decades) + 2 }, (_, i) => first + i)
      .flatMap((power) => (chosen ?? [1]).map((step) => Number(`${step}e${power}`)))
      .filter((tick) => tick >= least && tick <= most);
  }

  /**
   * A row for each driver, and below them the axis of the figures.
   * @param {Spec} spec
   * @param {number} width
   * @param {{ type?: string, domain: number[] }} x
   * @param {unknown[]} marks
   */
  function drawRows(spec, width, x, marks) {
    const drivers = driversOf(spec);
    const label = labeller(spec);
    const longest = Math.max(...drivers.map((driver) => label(driver).length));
    const wanted = longest * 0.56 * FONT_SIZE + 12;
    const marginLeft = Math.min(wanted, width * 0.45);
    const room = width - marginLeft - FIGURE_WIDTH;
    const ticks =
      x.type === 'log'
        ? logarithmicTicks(x.domain, room)
        : Math.max(2, Math.floor(room / TICK_DISTANCE));
    return Plot.plot({
      width,
      height: drivers.length * ROW_HEIGHT + 40,
      marginLeft,
      marginRight: FIGURE_WIDTH,
      marginTop: 4,
      marginBottom: 36,
      style: STYLE,
      x,
      y: { type: 'band', domain: drivers, padding: 0.25 },
      marks: [
        Plot.gridX({ ...GRID, ticks }),
        Plot.axisX({
          ticks,
          tickFormat: shorten,
          label: axisLabel(spec, x.type === 'log'),
          labelArrow: 'none',
        }),
        Plot.axisY(drivers, {
          tickFormat: label,
          tickSize: 0,
          label: null,
          lineWidth: marginLeft < wanted ? (marginLeft - 20) / FONT_SIZE : Infinity,
          textOverflow: 'ellipsis',
        }),
        ...marks,
        Plot.text(
          spec.rows.filter(({ failed }) => failed),
          { y: 'driver', frameAnchor: 'left', dx: 4, text: () => 'failed', fill: 'var(--failed)' },
        ),
      ],
    });
  }

  /**
   * From the smallest to the largest round, and the median in figures.
   * @param {Figure[]} figures
   * @param {number} dx
   */
  function spreadMarks(figures, dx) {
    const range = { x1: 'min', x2: 'max', y1: 'driver', y2: 'driver' };
    return [
      Plot.link(figures, { ...range, stroke: 'var(--text)', strokeWidth: 1.25, marker: 'tick' }),
      Plot.text(figures, { x: 'max', y: 'driver', text: 'text', textAnchor: 'start', dx }),
    ];
  }

  /** @param {Spec} spec @param {number} width */
  function drawBars(spec, width) {
    const figures = figuresOf(spec.rows, 0);
    const least = Math.min(0, ...figures.map(({ min }) => min));
    const most = Math.max(...figures.map(({ max }) => max));
    const bars = figures.filter(({ role }) => role !== 'limit');
    const limits = figures.filter(({ role }) => role === 'limit');
    const dashed = { stroke: 'var(--driver)', strokeWidth: 1.5, strokeDasharray: '4 3' };
    return drawRows(spec, width, { domain: [least, most || 1] }, [
      Plot.barX(bars, { x: 'median', y: 'driver', fill: colorOf }),
      Plot.barX(limits, { x: 'median', y: 'driver', fill: 'none', ...dashed }),
      ...spreadMarks(figures, 7),
    ]);
  }

  /** @param {Spec} spec @param {number} width */
  function drawLatency(spec, width) {
    const [p50, p99] = [figuresOf(spec.rows, 0), figuresOf(spec.rows, 1)];
    const least = Math.min(...p50.map(({ min }) => min));
    const most = Math.max(...p99.map(({ max }) => max));
    const x =
      most / least > WIDE
        ? { type: 'log', domain: [least * 0.8, most] }
        : { domain: [0, most || 1] };
    const pairs = p99.map((figure, index) => ({ ...figure, from: p50[index].median }));
    const place = { x: 'median', y: 'driver', r: 5, stroke: colorOf };
    return drawRows(spec, width, x, [
      Plot.link(pairs, {
        x1: 'from',
        x2: 'median',
        y1: 'driver',
        y2: 'driver',
        stroke: colorOf,
        strokeWidth: 5,
        strokeOpacity: 0.45,
      }),
      ...spreadMarks(p99, 9),
      Plot.dot(p50, { ...place, fill: 'var(--ground)', strokeWidth: 2 }),
      Plot.dot(p99, { ...place, fill: colorOf, symbol: 'diamond' }),
    ]);
  }

  /** @param {Spec} spec @param {number} width */
  function drawLines(spec, width) {
    const figures = figuresOf(spec.rows, 0);
    const drivers = driversOf(spec);
    let line = 0;
    const colors = drivers.map((name) => {
      const role = figures.find(({ driver }) => driver === name)?.role;
      const isOne = role === 'driver' || role === 'anchor';
      return isOne ? `var(--line-${(line++ % LINE_COLORS) + 1})` : colorOf({ role });
    });
    const least = Math.min(...figures.map(({ min }) => min));
    const most = Math.max(...figures.map(({ max }) => max));
    const isWide = least > 0 && most / least > WIDE;
    const xs = [...new Set(figures.map(({ x = 0 }) => x))].sort((a, b) => a - b);
    const step = Math.ceil((xs.length * TICK_DISTANCE) / width);
    const place = { x: 'x', y: 'median', stroke: 'driver' };
    const solid = figures.filter(({ role }) => role !== 'anchor');
    const dashed = figures.filter(({ role }) => role === 'anchor');
    const plot = Plot.plot({
      width,
      height: Math.min(360, Math.max(260, width * 0.6)),
      marginLeft: 56,
      marginRight: 16,
      marginTop: 28,
      marginBottom: 40,
      style: STYLE,
      x: { type: xs[0] > 0 ? 'log' : 'linear' },
      y: isWide ? { type: 'log' } : { domain: [Math.min(0, least), most || 1] },
      color: { domain: drivers, range: colors },
      symbol: { domain: drivers, range: drivers.map((_, i) => SYMBOLS[i % SYMBOLS.length]) },
      marks: [
        Plot.gridY({ ...GRID, ticks: 5 }),
        Plot.axisY({
          ticks: 5,
          tickFormat: shorten,
          label: axisLabel(spec, isWide),
          labelArrow: 'none',
        }),
        Plot.axisX(
          xs.filter((_, index) => index % step === 0),
          {
            tickFormat: shorten,
            label: spec.xAxis,
            labelArrow: 'none',
            labelAnchor: 'center',
          },
        ),
        Plot.link(figures, { x1: 'x', x2: 'x', y1: 'min', y2: 'max', stroke: 'driver' }),
        Plot.line(solid, {
          ...place,
          z: 'driver',
          strokeWidth: (/** @type {Figure} */ { role }) => (role === 'ours' ? 3.5 : 1.75),
        }),
        Plot.line(dashed, { ...place, z: 'driver', strokeWidth: 1.75, strokeDasharray: '6 4' }),
        Plot.dot(figures, { ...place, fill: 'driver', symbol: 'driver', r: 4 }),
      ],
    });
    const tickFormat = labeller(spec);
    return [plot.legend('symbol', { fill: 'color', style: STYLE, tickFormat }), plot];
  }

  const DRAW = { bars: drawBars, latency: drawLatency, lines: drawLines };

  /** @param {Spec} spec @param {Element} place @param {number} width */
  function draw(spec, place, width) {
    const drawn = [DRAW[spec.kind](spec, width)].flat();
    const svg = drawn[drawn.length - 1];
    svg.setAttribute('role', 'img');
    svg.setAttribute('aria-labelledby', `${spec.id}-title`);
    place.replaceChildren(...drawn);
  }

  /** @param {string} id */
  function find(id) {
    return /** @type {HTMLElement} */ (document.getElementById(id));
  }

  /** @type {Map<Element, Spec>} */
  const specs = new Map();
  for (const spec of JSON.parse(find('plots').textContent ?? '')) specs.set(find(spec.id), spec);

  const widths = new Map();
  const observer = new ResizeObserver((entries) => {
    for (const { target, contentRect } of entries) {
      const width = Math.round(contentRect.width);
      const spec = specs.get(target);
      if (!spec || width === 0 || widths.get(target) === width) continue;
      widths.set(target, width);
      draw(spec, target, width);
    }
  });
  for (const place of specs.keys()) observer.observe(place);
})();
