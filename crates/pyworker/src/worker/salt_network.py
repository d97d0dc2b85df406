# --- what stands in for salt.utils.network ----------------------------------

UP = 0x1
AF_PACKET = 17


def addresses_of_kernel():
    """`(name, flags, address, netmask, broadcast)` of each address that an
    interface has, in the kernel's own bytes; no program is asked."""
    import ctypes

    class Entry(ctypes.Structure):
        pass

    pointer = ctypes.POINTER(ctypes.c_ubyte)
    Entry._fields_ = [
        ("next", ctypes.POINTER(Entry)), ("name", ctypes.c_char_p), ("flags", ctypes.c_uint),
        ("address", pointer), ("netmask", pointer), ("broadcast", pointer), ("data", ctypes.c_void_p),
    ]

    def family(at):
        return int.from_bytes(bytes(at[:2]), sys.byteorder) if at else None

    def bytes_of(at):
        sizes = {2: 8, 10: 28, AF_PACKET: 20}
        return bytes(at[: sizes[family(at)]]) if family(at) in sizes else None

    libc, first, found = ctypes.CDLL(None, use_errno=True), ctypes.POINTER(Entry)(), []
    if libc.getifaddrs(ctypes.byref(first)) != 0:
        raise OSError(ctypes.get_errno(), "getifaddrs failed")
    try:
        at = first
        while at:
            one = at.contents
            found.append((one.name.decode(), one.flags, bytes_of(one.address), bytes_of(one.netmask), bytes_of(one.broadcast)))
            at = one.next
    finally:
        libc.freeifaddrs(first)
    return found


@stands_in_for("salt.utils.network")
def utils_network():
    import ipaddress
    import socket


    def linux_interfaces():
        found = {}
        for label, flags, address, netmask, broadcast in addresses_of_kernel():
            entry = found.setdefault(label.partition(":")[0], {"up": bool(flags & UP)})
            family = int.from_bytes(address[:2], sys.byteorder) if address else None
            if family == AF_PACKET:
                entry["hwaddr"] = ":".join("%02x" % byte for byte in address[12 : 12 + address[11]])
            elif family == socket.AF_INET:
                data = {"address": socket.inet_ntoa(address[4:8]), "netmask": socket.inet_ntoa((netmask or bytes(8))[4:8])}
                data["broadcast"] = socket.inet_ntoa(broadcast[4:8]) if broadcast and flags & 0x2 else None
                entry.setdefault("inet", []).append({**data, "label": label})
            elif family == socket.AF_INET6:
                ip = ipaddress.ip_address(address[8:24])
                scope = "host" if ip.is_loopback else "link" if ip.is_link_local else "site" if ip.is_site_local else "global"
                length = bin(int.from_bytes(netmask[8:24], "big")).count("1")
                entry.setdefault("inet6", []).append({"address": str(ip), "prefixlen": str(length), "scope": scope})
        return found

    def interfaces():
        return linux_interfaces()

    def is_of(ip_addr, kind):
        try:
            return bool(kind(str(ip_addr)))
        except ValueError:
            return False

    def is_ipv4(ip_addr):
        return is_of(ip_addr, ipaddress.IPv4Address)

    def is_ipv6(ip_addr):
        return is_of(ip_addr, ipaddress.IPv6Address)

    def is_ip(ip_addr):
        return is_ipv4(ip_addr) or is_ipv6(ip_addr)

    def is_loopback(ip_addr):
        return is_ip(ip_addr) and ipaddress.ip_address(ip_addr).is_loopback

    def is_ipv4_subnet(cidr):
        return "/" in str(cidr) and is_of(cidr, ipaddress.IPv4Network)

    def is_ipv6_subnet(cidr):
        return "/" in str(cidr) and is_of(cidr, ipaddress.IPv6Network)

    def is_subnet(cidr):
        return is_ipv4_subnet(cidr) or is_ipv6_subnet(cidr)

    def host_to_ips(host):
        try:
            infos = socket.getaddrinfo(host, 0, socket.AF_UNSPEC, socket.SOCK_STREAM)
        except OSError:
            return None
        return list(dict.fromkeys(info[4][0] for info in infos)) or None

    def ip_to_host(ip):
        try:
            return socket.gethostbyaddr(ip)[0]
        except OSError:
            return None

    def is_reachable_host(entity_name):
        return host_to_ips(entity_name) is not None

    def isportopen(host, port):
        if not 1 <= int(port) <= 65535:
            return False
        with socket.socket() as end:
            return end.connect_ex((sanitize_host(host), int(port)))

    def sanitize_host(host):
        return "".join(char for char in host if char.isascii() and (char.isalnum() or char in ".:_-"))[:255]

    def get_fqhostname():
        own = socket.gethostname()
        try:
            return socket.getaddrinfo(own, None, flags=socket.AI_CANONNAME)[0][3] or own
        except OSError:
            return own

    def generate_minion_id():
        return OPTS.get("id") or get_fqhostname()

    def hw_addr(iface):
        known = interfaces()
        if iface in known:
            return known[iface].get("hwaddr", "")
        return 'Interface "%s" not in available interfaces: "%s"' % (iface, '", "'.join(known))

    def interface(iface):
        known = interfaces()
        if iface in known:
            return known[iface].get("inet", "")
        return 'Interface "%s" not in available interfaces: "%s"' % (iface, '", "'.join(known))

    def interface_ip(iface):
        found = interface(iface)
        return found[0]["address"] if isinstance(found, list) and found else found

    def collected(kind, interface, include_loopback, known):
        known = interfaces() if known is None else known
        names = [interface] if isinstance(interface, str) else interface
        found = set()
        for name, data in known.items():
            if names and name not in names:
                continue
            for one in data.get(kind, []):
                if include_loopback or not ipaddress.ip_address(one["address"]).is_loopback:
                    found.add(one["address"])
        return sorted(found, key=ipaddress.ip_address)

    def ip_addrs(interface=None, include_loopback=False, interface_data=None):
        return collected("inet", interface, include_loopback, interface_data)

    def ip_addrs6(interface=None, include_loopback=False, interface_data=None):
        return collected("inet6", interface, include_loopback, interface_data)

    def calc_net(ipaddr, netmask=None):
        text = ipaddr if netmask is None else "%s/%s" % (ipaddr, netmask)
        return str(ipaddress.ip_network(str(text), strict=False))

    def subnets(interfaces=None):
        found = set()
        for data in (linux_interfaces() if interfaces is None else interfaces).values():
            for one in data.get("inet", []):
                if not ipaddress.ip_address(one["address"]).is_loopback:
                    found.add(ipaddress.ip_network("%s/%s" % (one["address"], one["netmask"]), strict=False))
        return [str(net) for net in sorted(found)]

    def subnets6():
        found = set()
        for data in linux_interfaces().values():
            for one in data.get("inet6", []):
                ip = ipaddress.ip_address(one["address"])
                if not ip.is_loopback:
                    found.add(ipaddress.ip_network("%s/%s" % (ip, one["prefixlen"]), strict=False))
        return [str(net) for net in sorted(found)]

    def in_subnet(cidr, addr=None):
        try:
            net = ipaddress.ip_network(cidr)
        except ValueError:
            return False
        own = ip_addrs() + ip_addrs6() if addr is None else [addr] if isinstance(addr, str) else addr
        return any(ipaddress.ip_address(one) in net for one in own)

    def natural_ipv4_netmask(ip_addr, fmt="prefixlen"):
        first = int(ip_addr.partition(".")[0])
        bits = 8 if first < 128 else 16 if first < 192 else 24
        return "/%d" % bits if fmt == "prefixlen" else cidr_to_ipv4_netmask(bits)

    def cidr_to_ipv4_netmask(cidr_bits):
        try:
            return str(ipaddress.IPv4Network("0.0.0.0/%d" % int(cidr_bits)).netmask) if int(cidr_bits) > 0 else ""
        except ValueError:
            return ""

    def get_net_start(ipaddr, netmask):
        return str(ipaddress.ip_network("%s/%s" % (ipaddr, netmask), strict=False).network_address)

    def get_net_size(mask):
        return sum(bin(int(part)).count("1") for part in mask.split("."))

    def gen_mac(prefix="AC:DE:48"):
        import random

        return ":".join([prefix] + ["%02X" % random.randint(0, 255) for _ in range(3)])

    def mac_str_to_bytes(mac_str):
        return bytes.fromhex("".join(char for char in mac_str if char not in ":-"))

    def ip_bracket(addr, strip=False):
        addr = addr.lstrip("[").rstrip("]") if addr else addr
        return addr if strip or not is_ipv6(addr) else "[%s]" % addr

    made = {name: value for name, value in vars().items() if inspect.isfunction(value)}
    return {name: value for name, value in made.items() if name not in ("is_of", "collected")}


