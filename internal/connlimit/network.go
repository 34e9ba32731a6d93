package connlimit

import (
	"net/netip"
)

// v6Sender is how much of an IPv6 address is one sender: whoever has one address has the whole network of it.
const v6Sender = 64

// Sender is what counts as one sender: an IPv4 address, or the /64 network of an IPv6 one, with or without a port. What
// is no address is itself.
func Sender(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		var withPort netip.AddrPort
		if withPort, err = netip.ParseAddrPort(address); err != nil {
			return address
		}
		ip = withPort.Addr()
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	network, err := ip.Prefix(v6Sender)
	if err != nil {
		return address
	}
	return network.String()
}
