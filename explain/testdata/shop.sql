-- A made-up web shop. Every value comes of CRC32 or SHA2 of its row's number, so
-- that each server has the same rows. A statement ends with a semicolon and a blank line.

CREATE TABLE categories (
  id        INT UNSIGNED NOT NULL AUTO_INCREMENT,
  parent_id INT UNSIGNED NULL,
  name      VARCHAR(60) NOT NULL,
  PRIMARY KEY (id),
  KEY parent (parent_id)
) ENGINE=InnoDB;

CREATE TABLE customers (
  id         INT UNSIGNED NOT NULL AUTO_INCREMENT,
  email      VARCHAR(120) NOT NULL,
  name       VARCHAR(80) NOT NULL,
  country    CHAR(2) NOT NULL,
  segment    ENUM('retail','business','partner') NOT NULL DEFAULT 'retail',
  created_at DATETIME NOT NULL,
  balance    DECIMAL(12,2) NOT NULL DEFAULT 0.00,
  profile    JSON NULL,
  PRIMARY KEY (id),
  UNIQUE KEY email (email),
  KEY country_created (country, created_at)
) ENGINE=InnoDB;

CREATE TABLE products (
  id          INT UNSIGNED NOT NULL AUTO_INCREMENT,
  sku         VARCHAR(24) NOT NULL,
  title       VARCHAR(120) NOT NULL,
  category_id INT UNSIGNED NOT NULL,
  price       DECIMAL(10,2) NOT NULL,
  stock       INT NOT NULL DEFAULT 0,
  description TEXT NULL,
  attrs       JSON NULL,
  PRIMARY KEY (id),
  UNIQUE KEY sku (sku),
  KEY category_price (category_id, price),
  FULLTEXT KEY words (title, description),
  CONSTRAINT product_category FOREIGN KEY (category_id) REFERENCES categories (id)
) ENGINE=InnoDB;

CREATE TABLE orders (
  id          BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  customer_id INT UNSIGNED NOT NULL,
  status      ENUM('new','paid','shipped','returned','cancelled') NOT NULL DEFAULT 'new',
  ordered_at  DATETIME NOT NULL,
  shipped_at  DATETIME NULL,
  total       DECIMAL(12,2) NOT NULL DEFAULT 0.00,
  note        VARCHAR(255) NULL,
  PRIMARY KEY (id),
  KEY customer (customer_id),
  KEY status_ordered (status, ordered_at),
  CONSTRAINT order_customer FOREIGN KEY (customer_id) REFERENCES customers (id)
) ENGINE=InnoDB;

CREATE TABLE order_items (
  order_id   BIGINT UNSIGNED NOT NULL,
  line_no    SMALLINT UNSIGNED NOT NULL,
  product_id INT UNSIGNED NOT NULL,
  qty        SMALLINT UNSIGNED NOT NULL,
  price      DECIMAL(10,2) NOT NULL,
  PRIMARY KEY (order_id, line_no),
  KEY product (product_id)
) ENGINE=InnoDB;

CREATE TABLE payments (
  id       BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  order_id BIGINT UNSIGNED NOT NULL,
  method   VARCHAR(16) NOT NULL,
  amount   DECIMAL(12,2) NOT NULL,
  paid_at  DATETIME(6) NOT NULL,
  ref      BINARY(16) NOT NULL,
  PRIMARY KEY (id),
  KEY order_id (order_id),
  KEY ref (ref)
) ENGINE=InnoDB;

CREATE TABLE reviews (
  id          INT UNSIGNED NOT NULL AUTO_INCREMENT,
  product_id  INT UNSIGNED NOT NULL,
  customer_id INT UNSIGNED NOT NULL,
  stars       TINYINT NOT NULL,
  body        TEXT NULL,
  created_at  DATETIME NOT NULL,
  PRIMARY KEY (id),
  KEY product_stars (product_id, stars)
) ENGINE=InnoDB;

CREATE TABLE events (
  id          BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  at          DATETIME NOT NULL,
  kind        VARCHAR(20) NOT NULL,
  customer_id INT UNSIGNED NULL,
  payload     VARBINARY(400) NULL,
  PRIMARY KEY (id, at),
  KEY kind_at (kind, at)
) ENGINE=InnoDB
PARTITION BY RANGE COLUMNS (at) (
  PARTITION p2023 VALUES LESS THAN ('2024-01-01'),
  PARTITION p2024 VALUES LESS THAN ('2025-01-01'),
  PARTITION p2025 VALUES LESS THAN ('2026-01-01'),
  PARTITION pmax  VALUES LESS THAN (MAXVALUE)
);

CREATE TABLE archived_orders (
  id          BIGINT UNSIGNED NOT NULL,
  customer_id INT UNSIGNED NOT NULL,
  total       DECIMAL(12,2) NOT NULL,
  archived_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY (id)
) ENGINE=InnoDB;

CREATE TABLE audit_log (
  id     BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  tbl    VARCHAR(64) NOT NULL,
  what   VARCHAR(16) NOT NULL,
  row_id BIGINT UNSIGNED NULL,
  at     TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  detail VARCHAR(255) NULL,
  PRIMARY KEY (id)
) ENGINE=InnoDB;

CREATE TABLE counters (
  k VARCHAR(40) NOT NULL,
  v BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (k)
) ENGINE=MyISAM;

CREATE TABLE `order notes` (
  `key`    INT NOT NULL,
  `order`  BIGINT NOT NULL,
  `na``me` VARCHAR(40) NULL,
  `größe`  INT NULL,
  PRIMARY KEY (`key`)
) ENGINE=InnoDB;

CREATE VIEW open_orders AS
  SELECT o.id, o.customer_id, c.country, o.total, o.ordered_at
  FROM orders o JOIN customers c ON c.id = o.customer_id
  WHERE o.status IN ('new', 'paid');

CREATE TABLE seq (n INT UNSIGNED NOT NULL PRIMARY KEY) ENGINE=InnoDB;

INSERT INTO seq
SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d
FROM (SELECT 0 d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9) a
CROSS JOIN (SELECT 0 d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9) b
CROSS JOIN (SELECT 0 d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9) c
CROSS JOIN (SELECT 0 d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9) e
CROSS JOIN (SELECT 0 d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4) f;

INSERT INTO categories (id, parent_id, name)
SELECT n, IF(n <= 6, NULL, 1 + (n * 7) % LEAST(n - 1, 20)), CONCAT('category ', n) FROM seq WHERE n BETWEEN 1 AND 60;

INSERT INTO customers (id, email, name, country, segment, created_at, balance, profile)
SELECT n, CONCAT('user', n, '@example.test'), CONCAT('Customer ', n),
  ELT(1 + CRC32(CONCAT('c', n)) % 8, 'DE', 'FR', 'US', 'JP', 'BR', 'IN', 'GB', 'SE'),
  ELT(1 + CRC32(CONCAT('s', n)) % 10, 'retail', 'retail', 'retail', 'retail', 'retail', 'retail', 'business', 'business', 'business', 'partner'),
  '2022-01-01' + INTERVAL (CRC32(CONCAT('t', n)) % 1400) DAY + INTERVAL (CRC32(CONCAT('u', n)) % 86400) SECOND,
  (CRC32(CONCAT('b', n)) % 100000) / 100 - 200,
  CONCAT('{"lang": "', ELT(1 + n % 3, 'de', 'en', 'ja'), '", "newsletter": ', IF(n % 4, 'true', 'false'), ', "tags": ["t', n % 7, '", "t', n % 11, '"]}')
FROM seq WHERE n BETWEEN 1 AND 4000;

INSERT INTO products (id, sku, title, category_id, price, stock, description, attrs)
SELECT n, CONCAT('SKU-', LPAD(HEX(CRC32(CONCAT('k', n))), 8, '0'), '-', n),
  CONCAT(ELT(1 + n % 6, 'red', 'blue', 'green', 'grand', 'small', 'quiet'), ' ', ELT(1 + n % 5, 'lamp', 'table', 'chair', 'shelf', 'clock'), ' ', n),
  1 + CRC32(CONCAT('g', n)) % 60, 1 + (CRC32(CONCAT('p', n)) % 50000) / 100, CRC32(CONCAT('q', n)) % 500,
  CONCAT('A ', ELT(1 + n % 4, 'sturdy', 'light', 'cheap', 'fine'), ' thing, made of ', ELT(1 + n % 3, 'wood', 'steel', 'glass')),
  CONCAT('{"weight": ', n % 40, ', "colour": "', ELT(1 + n % 3, 'red', 'blue', 'green'), '"}')
FROM seq WHERE n BETWEEN 1 AND 1500;

INSERT INTO orders (id, customer_id, status, ordered_at, shipped_at, total, note)
SELECT n, 1 + CRC32(CONCAT('oc', n)) % 4000,
  ELT(1 + CRC32(CONCAT('os', n)) % 20, 'new', 'paid', 'paid', 'returned', 'cancelled', 'shipped', 'shipped', 'shipped', 'shipped', 'shipped', 'shipped', 'shipped', 'shipped', 'shipped', 'shipped', 'shipped', 'shipped', 'shipped', 'shipped', 'shipped'),
  '2023-01-01' + INTERVAL n * 90 MINUTE,
  IF(CRC32(CONCAT('os', n)) % 20 >= 5, '2023-01-03' + INTERVAL n * 90 MINUTE, NULL),
  0, IF(n % 50 = 0, CONCAT('leave at door no. ', n % 9, ', “merci” 🚚'), NULL)
FROM seq WHERE n BETWEEN 1 AND 15000;

INSERT INTO order_items (order_id, line_no, product_id, qty, price)
SELECT s.n, l.n, p.id, 1 + CRC32(CONCAT('y', s.n, '.', l.n)) % 4, p.price
FROM seq s
STRAIGHT_JOIN (SELECT 1 n UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4) l ON l.n <= 1 + s.n % 4
STRAIGHT_JOIN products p ON p.id = 1 + CRC32(CONCAT('x', s.n, '.', l.n)) % 1500
WHERE s.n BETWEEN 1 AND 15000;

UPDATE orders o JOIN (SELECT order_id, SUM(qty * price) t FROM order_items GROUP BY order_id) i ON i.order_id = o.id SET o.total = i.t;

INSERT INTO payments (id, order_id, method, amount, paid_at, ref)
SELECT o.id, o.id, ELT(1 + o.id % 4, 'card', 'transfer', 'invoice', 'voucher'), o.total, o.ordered_at + INTERVAL o.id % 7200 SECOND, UNHEX(LEFT(SHA2(CONCAT('pay', o.id), 256), 32))
FROM orders o WHERE o.status <> 'new';

INSERT INTO reviews (id, product_id, customer_id, stars, body, created_at)
SELECT n, 1 + CRC32(CONCAT('rp', n)) % 1500, 1 + CRC32(CONCAT('rc', n)) % 4000, 1 + CRC32(CONCAT('rs', n)) % 5,
  ELT(1 + n % 5, 'très bien 👍', 'it''s fine', 'nicht so gut …', '良い商品です', NULL), '2023-02-01' + INTERVAL n HOUR
FROM seq WHERE n BETWEEN 1 AND 6000;

INSERT INTO events (id, at, kind, customer_id, payload)
SELECT n, '2023-06-01' + INTERVAL n * 2 HOUR, ELT(1 + CRC32(CONCAT('ek', n)) % 6, 'view', 'view', 'view', 'cart', 'login', 'search'),
  IF(n % 9, 1 + CRC32(CONCAT('ec', n)) % 4000, NULL), UNHEX(SHA2(CONCAT('ev', n), 256))
FROM seq WHERE n BETWEEN 1 AND 12000;

INSERT INTO counters (k, v) SELECT CONCAT('counter ', n), n * n FROM seq WHERE n < 100;

INSERT INTO `order notes` SELECT n, n * 3, CONCAT('note `', n, '`'), n % 40 FROM seq WHERE n < 200;

ANALYZE TABLE categories, customers, products, orders, order_items, payments, reviews, events, counters, `order notes`;
