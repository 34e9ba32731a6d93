package config

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
)

// listen reads the addresses of the listeners. The one for Slack is only bound where Slack is configured.
func (l *loader) listen(f listenFile, slack bool) Listen {
	out := Listen{
		API: cmp.Or(f.API, ":8080"), Ops: cmp.Or(f.Ops, ":8081"), Slack: cmp.Or(f.Slack, ":8082"),
		TLS: map[string]TLS{},
	}
	addresses := []struct{ name, addr, written string }{{"api", out.API, f.API}, {"ops", out.Ops, f.Ops}, {
		"slack",
		out.Slack, f.Slack,
	}}
	for n, a := range addresses {
		path := "listen." + a.name
		host, port, err := net.SplitHostPort(a.addr)
		if err != nil {
			l.at(path, "%q is not an address such as :8080 or 127.0.0.1:8080", a.addr)
			continue
		}
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			l.at(path, "%q has no port from 0 to 65535", a.addr)
			continue
		}
		for _, b := range addresses[:n] {
			if bound := slack || a.name != "slack"; bound && sameAddress(host, port, b.addr) {
				this := a.addr
				if a.written == "" {
					this = "the default " + this
				}
				l.at(path, "%s is the address of listen.%s (%s) too; each listener needs its own", this, b.name, b.addr)
			}
		}
	}
	for n, raw := range f.TrustedProxies {
		proxy, err := network(raw)
		if err != nil {
			l.at(fmt.Sprintf("listen.trusted_proxies[%d]", n), "%v", err)
			continue
		}
		out.TrustedProxies = append(out.TrustedProxies, proxy)
	}
	for name, t := range f.TLS {
		path := "listen.tls." + name
		if !slices.Contains([]string{"api", "ops", "slack"}, name) {
			l.at(path, "the listeners are api, ops and slack")
		}
		if t.CertFile == "" || t.KeyFile == "" {
			l.at(path, "needs cert_file and key_file")
		}
		out.TLS[name] = TLS{CertFile: l.file(t.CertFile), KeyFile: l.file(t.KeyFile), ClientCAFile: l.file(t.ClientCAFile)}
	}
	return out
}

// network reads a network, or one address as the network of itself. A network of everybody is refused: whoever is in it
// may claim to be anybody.
func network(raw string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(raw)
	if err != nil {
		a, err := netip.ParseAddr(raw)
		if err != nil {
			return netip.Prefix{}, fmt.Errorf("%q is not an address or a network such as 10.0.0.0/8", raw)
		}
		a = a.Unmap().WithZone("")
		p = netip.PrefixFrom(a, a.BitLen())
	}
	if p.Bits() == 0 {
		return netip.Prefix{}, fmt.Errorf("%s is every address, and anyone in it can claim to be someone else; name the "+
			"proxies", raw)
	}
	return p.Masked(), nil
}

// sameAddress says whether two listeners cannot be bound side by side: one port on one host, where no host is every
// host. Port 0 is a free one each time.
func sameAddress(host, port, other string) bool {
	otherHost, otherPort, err := net.SplitHostPort(other)
	if err != nil || port == "0" || port != otherPort {
		return false
	}
	return host == otherHost || everyHost(host) || everyHost(otherHost)
}

func everyHost(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || (ip != nil && ip.IsUnspecified())
}

func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}
