-- Questions that people ask, one a line: what private database queries are judged by, beside random ones.
SELECT iata, name, city FROM airports WHERE state = 'DE'
SELECT * FROM airports WHERE iata = 'ORD'
SELECT iata, city FROM airports WHERE iata IN ('JFK', 'LGA', 'EWR', 'XXX')
SELECT name FROM airports WHERE name LIKE 'Star%'
SELECT iata, name, state FROM airports WHERE name LIKE '%International' AND state = 'TX'
SELECT iata, name FROM airports WHERE name ILIKE 'chicago%'
SELECT iata, name, latitude, longitude FROM airports WHERE latitude >= 70
SELECT iata, name, latitude FROM airports WHERE latitude BETWEEN 40.5 AND 41 AND longitude BETWEEN -74.5 AND -73.5
SELECT iata, country FROM airports WHERE country <> 'USA'
SELECT iata, name FROM airports WHERE city IS NULL AND NOT state = 'AK'
SELECT iata, name, state FROM airports WHERE state IS NULL
SELECT iata FROM airports WHERE state IN ('RI', 'DC', 'DE') AND latitude < 40
SELECT iata, city FROM airports WHERE iata LIKE '_K_' AND state = 'AK'
SELECT carrier, flight, due, dep_delay FROM flights WHERE dest = 'ORD' AND date BETWEEN DATE '2013-01-01' AND DATE '2013-01-07' AND carrier = 'MQ'
SELECT due, carrier, flight FROM flights WHERE dest = 'ORD' AND date = DATE '2013-01-01'
SELECT carrier, flight, dest FROM flights WHERE NOT departed AND date < DATE '2013-01-05'
SELECT flight, origin, dest, arr_delay FROM flights WHERE arr_delay > 240
SELECT due, flight, dest FROM flights WHERE tailnum = 'N14228'
SELECT due, flight, tailnum FROM flights WHERE carrier = 'HA'
SELECT flight, dest, distance FROM flights WHERE distance BETWEEN 2400 AND 2700 AND dep_delay >= 60
SELECT flight, due FROM flights WHERE due < TIMESTAMP '2013-01-01 06:00:00' OR due >= TIMESTAMP '2013-01-10 23:00:00'
SELECT flight, carrier, dest FROM flights WHERE departed AND arr_delay IS NULL
SELECT flight, tailnum FROM flights WHERE tailnum IS NULL AND origin <> 'EWR'
SELECT date, flight, dest FROM flights WHERE dest IN ('ANC', 'HNL', 'MTJ', 'SBN') AND dep_delay <= 0
SELECT title, year FROM movies WHERE title LIKE 'Star%'
SELECT title, year, rating FROM movies WHERE rating BETWEEN 8 AND 9 AND mpaa <> 'R' AND comedy
SELECT title, rating, mpaa FROM movies WHERE rating BETWEEN 8.7 AND 9 AND NOT mpaa = 'R'
SELECT title, year FROM movies WHERE title LIKE '%Godfather%'
SELECT title, rating, votes FROM movies WHERE votes >= 100000
SELECT title, length FROM movies WHERE length > 240 AND drama
SELECT title, year, budget FROM movies WHERE budget IS NOT NULL AND year < 1930
SELECT title, budget FROM movies WHERE budget >= 150000000 AND mpaa = 'PG-13'
SELECT title, rating FROM movies WHERE rating <= 1.5 AND mpaa IS NULL
SELECT title, year, rating FROM movies WHERE short AND rating > 8.5
SELECT name, mpg FROM cars WHERE mpg IS NULL
SELECT name, horsepower FROM cars WHERE horsepower IS NULL OR horsepower > 215
SELECT name, year, origin FROM cars WHERE origin = 'Europe' AND cylinders <> 4
SELECT name, mpg, weight FROM cars WHERE name LIKE 'ford%' AND mpg > 25
SELECT name, weight FROM cars WHERE NOT (cylinders IN (4, 6, 8))
SELECT tailnum, year, model FROM planes WHERE manufacturer = 'CESSNA'
SELECT tailnum, model, speed FROM planes WHERE speed IS NOT NULL
SELECT tailnum, seats FROM planes WHERE seats > 350
SELECT tailnum, year FROM planes WHERE year < 1975
SELECT tailnum, model FROM planes WHERE model LIKE '747%' OR manufacturer LIKE 'BELL%'
SELECT date, temp_max FROM weather WHERE temp_max >= 35
SELECT date, precipitation FROM weather WHERE precipitation > 40 OR wind > 9
SELECT date, weather FROM weather WHERE weather = 'snow' AND date >= '2013-01-01'
SELECT date, temp_min FROM weather WHERE temp_min < -4.5 AND NOT weather = 'sun'
