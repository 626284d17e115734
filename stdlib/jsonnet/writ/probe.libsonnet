// Probes.

local c = import 'check.libsonnet';

local ways = ['http', 'tcp', 'exec'];

// port checks the name or number of the port that is asked. known are the names
// there are.
local port(known) = function(at, v)
  if c.isWhole(v, 1, 65535) then v
  else if !std.isString(v) || !c.isPortName(v) then c.fail(at, 'the port of a probe is a name of ports, or a number from 1 to 65535')
  else if std.member(known, v) then v
  else c.fail(at, 'no port is named %s; use a number, or one of ports: %s' % [v, if known == [] then 'there are none' else std.join(', ', known)]);

local fields(known) = {
  http(at, v): c.record({ path: c.path, port: port(known) })(at, { path: '/', port: 'http' } + c.object(at, v)),
  tcp(at, v): c.record({ port: port(known) })(at, { port: 'http' } + c.object(at, v)),
  exec: c.record({
    command(at, v): if v == [] then c.fail(at, 'must not be empty') else c.list(c.string)(at, v),
  }, ['command']),
  period: c.positive,
  timeout: c.positive,
  delay: c.count,
  failures: c.positive,
};

local one(known) = c.oneWay(c.record(fields(known)), ways, message='asks by one of');

local names = {
  http: 'httpGet',
  tcp: 'tcpSocket',
  exec: 'exec',
  period: 'periodSeconds',
  timeout: 'timeoutSeconds',
  delay: 'initialDelaySeconds',
  failures: 'failureThreshold',
};

// written is the API's form of a probe.
local written(p) = { [names[f]]: p[f] for f in std.objectFields(p) if std.objectHas(names, f) };

{
  // check checks the probes of pods whose ports have the names.
  check(known):: function(at, v)
    local own = std.setDiff(std.objectFields(c.object(at, v)), ['live', 'start']);
    local asks = std.setInter(own, std.set(ways));
    if own != [] && asks == [] && std.setDiff(own, std.objectFields(names)) == [] then c.fail(at, 'asks by one of http, tcp and exec')
    else c.oneWay(c.record(fields(known) { start: one(known), live: one(known) }), ways, 0, 'asks by one of')(at, v),

  // container is what a container says of its probes.
  container(probes):: {
    [if std.setInter(std.objectFields(probes), std.set(ways)) != [] then 'readinessProbe']: written(probes),
    [if std.objectHas(probes, 'start') then 'startupProbe']: written(probes.start),
    [if std.objectHas(probes, 'live') then 'livenessProbe']: written(probes.live),
  },
}
