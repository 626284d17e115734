// What is a mistake, and how it is said. A check takes where a value is
// written, and the value, and returns the value or fails. The same checks in
// CUE are the definitions of writ.dev/app.

local lower = 'abcdefghijklmnopqrstuvwxyz';
local upper = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
local digits = '0123456789';
local most = 2147483647;

local show(v) = if std.isFunction(v) then 'a function' else std.manifestJsonMinified(v);
local fail(at, message) = error at + ': ' + message;

local only(s, allowed) = std.all([std.member(allowed, c) for c in std.stringChars(s)]);
local startsAndEnds(s, allowed) = std.length(s) > 0 && std.member(allowed, s[0]) && std.member(allowed, s[std.length(s) - 1]);
local hasLetter(s) = std.any([std.member(lower, c) for c in std.stringChars(s)]);
local isNumber(s) = s != '' && only(s, digits);

// text makes a check of strings.
local text(holds, message) = function(at, v)
  if std.isString(v) && holds(v) then v else fail(at, message + ', not ' + show(v));

local isName(most, more='') = function(s)
  std.length(s) <= most && only(s, lower + digits + '-' + more) && startsAndEnds(s, lower + digits);
local isPortName(s) = isName(15)(s) && hasLetter(s);
local isEnvName(s) = s != '' && only(s, lower + upper + digits + '_') && !std.member(digits, s[0]);
local isPath(s) = std.startsWith(s, '/');
local isWord(s) = s != '' && only(s, lower + digits + '-') && s[0] != '-';
local isServicePort(s) =
  local slash = std.split(s, '/');
  local last = std.split(slash[std.length(slash) - 1], ':');
  std.length(slash) <= 2 && std.length(last) == 2 && isWord(last[0]) && isWord(last[1])
  && (std.length(slash) == 1 || isWord(slash[0]));
local isSchedule(s) =
  local fields = std.split(s, ' ');
  std.length(fields) == 5 && !std.member(fields, '')
  || std.length(s) > 1 && s[0] == '@' && only(s[1:], lower);
local isQuantity(s) =
  local n = std.length(s);
  local end =
    if n > 1 && s[n - 1] == 'i' && std.member('KMGTPE', s[n - 2]) then n - 2
    else if n > 0 && std.member('numkMGTPE', s[n - 1]) then n - 1
    else n;
  local parts = std.split(s[:end], '.');
  std.length(parts) <= 2 && std.all(std.map(isNumber, parts));
local isResource(s) =
  local parts = std.split(s, '/');
  std.member(['cpu', 'memory', 'ephemeral-storage'], s)
  || std.length(parts) == 2 && !std.member(parts, '') && !std.member(s, ' ')
  || std.startsWith(s, 'hugepages-') && std.endsWith(s, 'i') && std.length(s) > 12
     && std.member('KMG', s[std.length(s) - 2]) && isNumber(s[10:std.length(s) - 2]);

local isWhole(v, from, to) = std.isNumber(v) && std.floor(v) == v && v >= from && v <= to;

{
  fail:: fail,
  isWhole:: isWhole,
  isPortName:: isPortName,

  // object checks that v is an object.
  object(at, v)::
    if std.isObject(v) then v else fail(at, 'must be an object, not ' + show(v)),

  // record makes a check of objects: fields says which there may be, and the
  // check of each; required which there must be.
  record(fields, required=[]):: function(at, v)
    local unknown = std.setDiff(std.objectFields($.object(at, v)), std.objectFields(fields));
    local missing = [f for f in required if !std.objectHas(v, f)];
    if unknown != [] then fail(at, 'has no field %s; it has %s' % [std.join(', ', unknown), std.join(', ', std.objectFields(fields))])
    else if missing != [] then fail(at, 'needs ' + std.join(' and ', missing))
    else { [f]: fields[f](at + '.' + f, v[f]) for f in std.objectFields(v) },

  // map makes a check of objects with any fields, of which it checks the names
  // and the values.
  map(name, value):: function(at, v) {
    [f]: value(at + '.' + f, v[f])
    for f in std.objectFields($.object(at, v))
    if name(at + '.' + f, f) != null
  },

  // list makes a check of lists.
  list(item):: function(at, v)
    if std.isArray(v) then std.mapWithIndex(function(i, x) item('%s[%d]' % [at, i], x), v)
    else fail(at, 'must be a list, not ' + show(v)),

  // oneWay makes a check of objects that have one of several fields.
  oneWay(check, ways, atLeast=1, message='has one of'):: function(at, v)
    local have = [w for w in ways if std.objectHas($.object(at, v), w)];
    if std.length(have) > 1 || std.length(have) < atLeast then fail(at, message + ' ' + std.join(', ', ways[:std.length(ways) - 1]) + ' and ' + ways[std.length(ways) - 1])
    else check(at, v),

  oneOf(values):: function(at, v)
    if std.member(values, v) then v else fail(at, 'must be %s, not %s' % [std.join(' or ', values), show(v)]),

  string(at, v)::
    if std.isString(v) then v
    else fail(at, 'must be a string, not ' + show(v) + (if std.isNumber(v) || std.isBoolean(v) then '; put it in quotes' else '')),
  boolean(at, v):: if std.isBoolean(v) then v else fail(at, 'must be true or false, not ' + show(v)),
  whole(from, to=most):: function(at, v)
    if isWhole(v, from, to) then v
    else fail(at, 'must be a whole number%s, not %s' % [if to == most then ', %d or more' % from else ' from %d to %d' % [from, to], show(v)]),
  count:: $.whole(0),
  positive:: $.whole(1),

  name:: text(isName(63), "a name is lower-case letters, digits and '-', at most 63, and begins and ends with a letter or digit"),
  cronJobName:: text(isName(52), "the name of a CronJob is lower-case letters, digits and '-', at most 52"),
  mountName:: text(function(s) isName(63)(s) && s != 'config', "the name of a mount is lower-case letters, digits and '-', and not config"),
  objectName:: text(isName(253, '.'), "the name of an object is lower-case letters, digits, '-' and '.', and begins and ends with a letter or digit"),
  fileName:: text(function(s) s != '' && std.length(s) <= 253 && only(s, lower + upper + digits + '-._'), "a key is letters, digits, '-', '_' and '.', at most 253"),
  envName:: text(isEnvName, "a variable is letters, digits and '_', and does not begin with a digit"),
  path:: text(isPath, 'a path begins with /'),
  portName:: text(isPortName, "the name of a port is lower-case letters, digits and '-', at most 15, at least one a letter"),
  image:: text(function(s) s != '' && !std.member(s, ' '), 'an image is a reference, without spaces'),
  servicePort:: text(isServicePort, 'a service is written "name:port" or "namespace/name:port"'),
  schedule:: text(isSchedule, 'a schedule has five fields, such as "0 3 * * *", or is one word such as "@daily"'),
  timeZone:: text(function(s) s != '' && std.member(lower + upper, s[0]) && only(s, lower + upper + digits + '-+_/'), 'a time zone is a name such as "Europe/Berlin"'),
  resourceName:: text(isResource, 'a resource is cpu, memory, ephemeral-storage, or one with a domain'),
  quantity(at, v)::
    if std.isNumber(v) && v >= 0 || std.isString(v) && isQuantity(v) then v
    else fail(at, 'a quantity is a number, or one with a unit such as "100m" or "128Mi", not ' + show(v)),

  // all checks a whole value, which is lazy, before there is result.
  all(value, result):: if std.manifestJsonMinified(value) != '' then result,
}
